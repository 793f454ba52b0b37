"""Bytes of a photograph to the input of a network: a change of type, of scale and of the order of axes in one sweep.

python examples/image_normalise.py
jitflow explain examples/image_normalise.py:normalise --arg u8[h,w,3]
"""

from __future__ import annotations

import numpy as np

import jitflow

MEAN = np.array([0.485, 0.456, 0.406], np.float32)  # captured arrays are inputs like any other
DEVIATION = np.array([0.229, 0.224, 0.225], np.float32)


@jitflow.function
def normalise(image):
    scaled = image.astype(np.float32) / 255
    return np.ascontiguousarray(((scaled - MEAN) / DEVIATION).transpose(2, 0, 1))


def main() -> None:
    image = np.random.default_rng(0).integers(0, 256, (1080, 1920, 3), np.uint8)
    planes = normalise(image)
    print(f"{image.dtype}{image.shape} became {planes.dtype}{planes.shape}")
    for name, plane in zip(("red", "green", "blue"), planes, strict=True):
        print(f"{name:5} from {plane.min():.3f} to {plane.max():.3f}")


if __name__ == "__main__":
    main()
