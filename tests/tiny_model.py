"""Write a language model of a few thousand weights that a real server loads in no time and that says nothing sensible.

The file's format: docs/gguf.md of the ggml sources (version 3). What a model of architecture `llama` must have:
src/models/llama.cpp and src/llama-vocab.cpp of llama.cpp (b11434).
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

__all__ = ["KV_BYTES", "WEIGHTS_BYTES", "write_tiny_model"]

WIDTH, HIDDEN, HEADS, CONTEXT = 32, 64, 4, 512
UINT32, FLOAT32, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
"""Kinds of tokens."""

TOKENS = [
    ("<unk>", UNKNOWN),
    ("<s>", CONTROL),
    ("</s>", CONTROL),
    *((f"<0x{byte:02X}>", BYTE) for byte in range(256)),
    *((letter, NORMAL) for letter in "▁abcde"),
]
SHAPES: dict[str, tuple[int, ...]] = {
    "token_embd": (WIDTH, len(TOKENS)),
    "output_norm": (WIDTH,),
    "blk.0.attn_norm": (WIDTH,),
    "blk.0.attn_q": (WIDTH, WIDTH),
    "blk.0.attn_k": (WIDTH, WIDTH),
    "blk.0.attn_v": (WIDTH, WIDTH),
    "blk.0.attn_output": (WIDTH, WIDTH),
    "blk.0.ffn_norm": (WIDTH,),
    "blk.0.ffn_gate": (WIDTH, HIDDEN),
    "blk.0.ffn_up": (WIDTH, HIDDEN),
    "blk.0.ffn_down": (HIDDEN, WIDTH),
}
"""Rows first, as the file has them; without an `output` the embedding is used again."""


WEIGHTS_BYTES = sum(4 * prod(shape) for shape in SHAPES.values())
KV_BYTES = CONTEXT * WIDTH * 2 * 2
"""Of all its context: keys and values of 16 bits."""


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: str | float | Sequence[str | float]) -> bytes:
    """A value behind its type."""
    if isinstance(value, str):
        return struct.pack("<I", STRING) + _string(value)
    if isinstance(value, int):
        return struct.pack("<II", UINT32, value)
    if isinstance(value, float):
        return struct.pack("<If", FLOAT32, value)
    if isinstance(value[0], str):
        return struct.pack("<IIQ", ARRAY, STRING, len(value)) + b"".join(map(_string, map(str, value)))
    kind, letter = (INT32, "i") if isinstance(value[0], int) else (FLOAT32, "f")
    return struct.pack(f"<IIQ{len(value)}{letter}", ARRAY, kind, len(value), *value)


def write_tiny_model(path: Path) -> Path:
    """Write the model, the same bytes each time."""
    chance = random.Random(1)  # noqa: S311  (weights are no secret)
    about: Mapping[str, str | float | Sequence[str | float]] = {
        "general.architecture": "llama",
        "general.name": "tiny",
        "llama.block_count": 1,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.feed_forward_length": HIDDEN,
        "llama.attention.head_count": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [token for token, _ in TOKENS],
        "tokenizer.ggml.scores": [0.0 for _ in TOKENS],
        "tokenizer.ggml.token_type": [kind for _, kind in TOKENS],
    }
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(SHAPES), len(about))
    head += b"".join(_string(name) + _value(value) for name, value in about.items())
    weights = b""
    for name, shape in SHAPES.items():
        head += _string(f"{name}.weight") + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(weights))
        weights += struct.pack(f"<{prod(shape)}f", *(chance.gauss(0, 0.1) for _ in range(prod(shape))))
    path.write_bytes(head + bytes(-len(head) % 32) + weights)  # aligned; so is each tensor, by its length
    return path
