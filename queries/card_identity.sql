-- stored
--
-- One row a sample of a card: whether total = reserved + used + free holds, within rounding.
--
-- card_id         VARCHAR  Card.
-- at_us           BIGINT   When, µs UTC.
-- total_bytes     BIGINT   Installed.
-- reserved_bytes  BIGINT   Reserved by driver and firmware.
-- used_bytes      BIGINT   Used.
-- free_bytes      BIGINT   Free.
-- rest_bytes      BIGINT   total − reserved − used − free, signed; without reserved it is what the driver reserves.
-- holds           BOOLEAN  Whether the rest is within the rounding of four figures in MiB; empty if one of them is not sampled.
-- line_id         VARCHAR  Evidence: the row of telemetry.
SELECT
    card_id, at_us, total_bytes, reserved_bytes, used_bytes, free_bytes,
    total_bytes - coalesce(reserved_bytes, 0) - used_bytes - free_bytes AS rest_bytes,
    abs(total_bytes - reserved_bytes - used_bytes - free_bytes) <= 2 * 1048576 AS holds,
    line_id
FROM card_sample
ORDER BY card_id, at_us, line_id
