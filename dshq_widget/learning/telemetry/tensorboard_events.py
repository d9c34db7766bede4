"""TensorBoard's event files, written without TensorBoard.

A file is a row of records: u64 length, masked CRC-32C of the length, the bytes, their masked CRC-32C (TensorFlow,
`core/lib/io/record_writer.h`; the mask is in `core/lib/hash/crc32c.h`). The bytes are an `Event` in protobuf's wire
format (`tensorboard/compat/proto/event.proto`): 1 wall_time double, 2 step varint, 3 file_version string, 5 Summary; a
Summary repeats 1 Value of 1 tag string, 2 simple_value float.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path

FIRST = b"brain.Event:2"
"""The version in the first record."""
POLYNOMIAL = 0x82F63B78
"""Castagnoli's, reversed (RFC 3720, section 12.1)."""


def _table() -> list[int]:
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ POLYNOMIAL * (value & 1)
        table.append(value)
    return table


TABLE = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C of some bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """One record of a file."""

    def masked(part: bytes) -> bytes:
        crc = crc32c(part)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def event(now: float, step: int, what: bytes) -> bytes:
    """An event at Unix time `now`, with one further field already encoded."""
    return b"\x09" + struct.pack("<d", now) + b"\x10" + _varint(step) + what


def scalars(values: Mapping[str, float]) -> bytes:
    """The field `summary` of an event."""
    points = (_bytes(1, tag.encode()) + b"\x15" + struct.pack("<f", value) for tag, value in values.items())
    return _bytes(5, b"".join(_bytes(1, point) for point in points))


def _bytes(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


class EventFile:
    """A new event file in `folder`; raises OSError if it cannot be created or written."""

    def __init__(self, folder: Path, now: float) -> None:
        name = f"events.out.tfevents.{int(now)}.{socket.gethostname()}.{os.getpid()}"
        self._file = (folder / name).open("ab")
        self._file.write(record(event(now, 0, _bytes(3, FIRST))))

    def add(self, now: float, step: int, values: Mapping[str, float]) -> None:
        """One point per value at `step`, flushed."""
        self._file.write(record(event(now, step, scalars(values))))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()
