"""From a call to code that can be called: the stages, what they make, and what they tell."""
