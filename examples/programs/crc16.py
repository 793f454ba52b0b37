"""The cyclic redundancy check CRC-16/X-25 of a block of bytes, bit by bit (ITU-T recommendation V.42).

The register is a Python integer; the polynomial x^16 + x^12 + x^5 + 1 is used with its bits reversed.
"""

import numpy as np

import jitflow


@jitflow.function
def crc16(data, polynomial):
    crc = 0xFFFF
    for byte in data:
        current = 0xFF & int(byte)
        for _ in range(8):
            if (crc & 0x0001) ^ (current & 0x0001):
                crc = (crc >> 1) ^ polynomial
            else:
                crc >>= 1
            current >>= 1
    crc = ~crc & 0xFFFF
    return ((crc << 8) | (crc >> 8)) & 0xFFFF  # low byte first


def example(size="small", seed=0):
    n = 60 if size == "small" else 200_000
    return np.random.default_rng(seed).integers(0, 256, n, np.uint8), 0x8408


if __name__ == "__main__":
    data, polynomial = example("large")
    print(f"CRC of {len(data)} bytes: {crc16(data, polynomial):#06x}")
