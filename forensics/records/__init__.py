"""Readers: envelope formats only. Bytes in, blocks of records out; nothing here knows a program."""
