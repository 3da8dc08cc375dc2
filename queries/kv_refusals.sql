-- stored
--
-- A start that was refused for want of memory, with all its numbers: one row a load and reason.
--
-- An engine prints a refusal several times, as each process passes it on: it is one.
--
-- load_id            VARCHAR  The load.
-- number             BIGINT   Its place among the loads of the case.
-- reason             VARCHAR  free_memory, kv_too_small, no_blocks or configuration.
-- needed_bytes       BIGINT   Needed.
-- available_bytes    BIGINT   There.
-- short_bytes        BIGINT   Needed less there.
-- total_bytes        BIGINT   Device memory in all.
-- utilization_ratio  DOUBLE   Share of the device asked for.
-- requested_tokens   BIGINT   Length asked for.
-- possible_tokens    BIGINT   Length that would fit, as the program estimates.
-- device             VARCHAR  Device, if the line names it.
-- printed            BIGINT   Lines that say it.
-- message            VARCHAR  The line's words.
-- lines              VARCHAR  Evidence: line ids in order, separated by blanks.
SELECT
    refused.load_id,
    load.number,
    refused.reason,
    max(refused.needed_bytes) AS needed_bytes,
    max(refused.available_bytes) AS available_bytes,
    max(refused.needed_bytes) - max(refused.available_bytes) AS short_bytes,
    max(refused.total_bytes) AS total_bytes,
    max(refused.utilization_ratio) AS utilization_ratio,
    max(refused.requested_tokens) AS requested_tokens,
    max(refused.possible_tokens) AS possible_tokens,
    max(refused.device) AS device,
    count(*) AS printed,
    arg_min(refused.message, refused.ordinal) AS message,
    string_agg(refused.line_id, ' ' ORDER BY refused.ordinal) AS lines
FROM start_refused AS refused
JOIN load USING (load_id)
WHERE refused.believed AND refused.reason <> 'configuration'
GROUP BY refused.load_id, load.number, refused.reason
ORDER BY load.number, min(refused.ordinal)
