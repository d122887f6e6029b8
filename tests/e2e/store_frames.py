# SPDX-License-Identifier: Apache-2.0
"""Frames of a timeline as they are (common/doc/wire-format.md), for tests that put others together of them."""

import struct
import zlib

RUN, ALIGN, BATCHES, SPANS, OF_INDEX = 1, 6, (4, 7), 9, (16, 17)
HEAD_BYTES = 32


def read(path):
    """Up to the first bytes that begin no frame."""
    with open(path, "rb") as file:
        data = file.read()
    frames, at = [], 0
    while data[at:at + 4] == b"RKTF":
        end = at + HEAD_BYTES + struct.unpack_from("<I", data, at + 20)[0]
        frames.append(data[at:end])
        at = end
    return frames


def kind(frame):
    return frame[5]


def source(frame):
    return struct.unpack_from("<I", frame, 8)[0]


def first_batch(frames, of_source):
    """Its place among the frames."""
    return next(i for i, frame in enumerate(frames) if source(frame) == of_source and kind(frame) in BATCHES)


def with_head(head, payload):
    """A frame of the head's first 28 bytes, which get their crc."""
    return bytes(head) + struct.pack("<I", zlib.crc32(bytes(head))) + payload
