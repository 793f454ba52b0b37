"""The intermediate representation: records, the table of operations, text form, verifier, interpreter."""
