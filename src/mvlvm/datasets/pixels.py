"""Grey levels and sizes of images, bit for bit as Pillow computes them."""

import numpy as np
from jaxtyping import Float, UInt8

# ITU-R 601 luma in 16-bit fixed point, as Pillow's mode L computes it.
_LUMA = (19595, 38470, 7471)
_LUMA_BITS = 16
# Pillow resizes 8-bit images with weights in 22-bit fixed point.
_WEIGHT_BITS = 22
_IMAGES_AT_ONCE = 5_000


def grey(images: UInt8[np.ndarray, "N height width 3"]) -> UInt8[np.ndarray, "N height width"]:
    """Give the ITU-R 601 luma of colour images, bit for bit as Pillow's mode L does."""
    return np.concatenate([_luma(part) for part in _parts(images)])


def resize(images: UInt8[np.ndarray, "N old old *channels"], side: int) -> UInt8[np.ndarray, "N side side *channels"]:
    """Give smaller square images, bit for bit as Pillow's antialiased bilinear filter does.

    Rows first, then columns, rounded after each. torch's `interpolate` is up to two grey levels away.
    """
    if images.ndim == 4:
        return np.stack([resize(images[..., channel], side) for channel in range(images.shape[3])], axis=-1)
    weights = _triangle_weights(images.shape[1], side)
    return np.concatenate([_filter_columns(_filter_columns(part, weights), weights) for part in _parts(images)])


def _parts(images: UInt8[np.ndarray, "N ..."]) -> list[UInt8[np.ndarray, "_ ..."]]:
    """Split many images: the numbers in between take eight times the memory of the pixels."""
    return np.array_split(images, 1 + len(images) // _IMAGES_AT_ONCE)


def _luma(images: UInt8[np.ndarray, "N height width 3"]) -> UInt8[np.ndarray, "N height width"]:
    red, green, blue = (weight * images[..., channel].astype(np.int32) for channel, weight in enumerate(_LUMA))
    return ((red + green + blue + (1 << (_LUMA_BITS - 1))) >> _LUMA_BITS).astype(np.uint8)


def _filter_columns(
    images: UInt8[np.ndarray, "N rows old"], weights: Float[np.ndarray, "new old"]
) -> UInt8[np.ndarray, "N new rows"]:
    """Filter along the last axis and turn the images, so that the second call does the other axis and turns back."""
    scale = 2.0**_WEIGHT_BITS
    sums = images.astype(np.float64) @ weights.T  # whole numbers below 2^31: exact
    return np.clip(np.floor(sums / scale + 0.5), 0, 255).astype(np.uint8).swapaxes(1, 2)


def _triangle_weights(old: int, new: int) -> Float[np.ndarray, "new old"]:
    """Give the weights of the triangle filter that is as wide as the step between two new pixels, as whole numbers."""
    step = old / new
    centres = (np.arange(new)[:, None] + 0.5) * step
    weights = np.clip(1 - np.abs(np.arange(old) + 0.5 - centres) / step, 0, None)
    return np.floor(weights / weights.sum(axis=1, keepdims=True) * 2.0**_WEIGHT_BITS + 0.5)
