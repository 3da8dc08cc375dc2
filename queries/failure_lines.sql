-- stored
--
-- A line of a load that tells of a failure: a refusal, a denied allocation, an error. Warnings and dry runs are not here.
--
-- `rank` says what a line can be: root, wrapper (another process passes it on) or consequence. One failure prints several.
--
-- load_id           VARCHAR  The load.
-- line_id           VARCHAR  The line.
-- ordinal           BIGINT   Its place among all lines.
-- time_us           BIGINT   When, µs UTC.
-- event             VARCHAR  start_refused, allocation_failed or failure_reported.
-- rank              VARCHAR  root, wrapper or consequence.
-- error_class       VARCHAR  Class: the driver's words behind `error:`, out_of_memory, a reason, or the reported class.
-- message           VARCHAR  The line's words.
-- device            VARCHAR  Device, as printed.
-- tried_bytes       BIGINT   Amount asked for.
-- free_bytes        BIGINT   Free on the device.
-- total_bytes       BIGINT   Device memory in all.
-- process_bytes     BIGINT   Held by the process.
-- allocated_bytes   BIGINT   Held by its allocator.
-- reserved_bytes    BIGINT   Reserved by the allocator and not allocated.
-- others_bytes      BIGINT   Held by others; with the process's own context where the line tells of its allocator alone.
-- requested_tokens  BIGINT   Length asked for, of a refusal.
-- possible_tokens   BIGINT   Length that would fit, of a refusal.
SELECT
    load_id, line_id, ordinal, time_us, 'start_refused' AS event, 'root' AS rank, reason AS error_class, message, device,
    needed_bytes AS tried_bytes, available_bytes AS free_bytes, total_bytes, NULL AS process_bytes, NULL AS allocated_bytes,
    NULL AS reserved_bytes, NULL AS others_bytes, requested_tokens, possible_tokens
FROM start_refused
WHERE believed AND load_id IS NOT NULL
UNION ALL BY NAME
SELECT
    load_id, line_id, ordinal, time_us, 'allocation_failed' AS event, 'root' AS rank, 'out_of_memory' AS error_class, message,
    device, size_bytes AS tried_bytes, free_bytes, total_bytes, process_bytes, allocated_bytes,
    coalesce(reserved_bytes, reserved_total_bytes - allocated_bytes) AS reserved_bytes,
    total_bytes - free_bytes - coalesce(process_bytes, reserved_total_bytes) AS others_bytes
FROM allocation_failed
WHERE believed AND load_id IS NOT NULL AND phase IS DISTINCT FROM 'fit'
UNION ALL BY NAME
SELECT
    load_id, line_id, ordinal, time_us, 'failure_reported' AS event, rank,
    CASE
        WHEN failure = 'cuda_error' THEN
            coalesce(nullif(lower(regexp_extract(message, '(?:CUDA|HIP|ROCm|MUSA) error: (.*)$', 1)), ''), failure)
        ELSE failure
    END AS error_class,
    message
FROM failure_reported
WHERE believed AND load_id IS NOT NULL AND phase IS DISTINCT FROM 'fit'
    AND failure NOT IN ('warning', 'preemption', 'request_failed')
ORDER BY load_id, ordinal
