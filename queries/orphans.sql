-- One row a line that should have an owner and is proved to have none, with the reason.
--
-- Lines that no process is proved to have written, and lines about memory or requests that no load is.
--
-- line_id     VARCHAR  The line.
-- ordinal     BIGINT   Its place among all matched lines.
-- time_us     BIGINT   µs since the epoch, UTC.
-- source_id   VARCHAR  Source.
-- unit        VARCHAR  Unit.
-- program     VARCHAR  Program whose pattern read it.
-- process_id  VARCHAR  Process that wrote it, if that is known.
-- event       VARCHAR  Table of the event.
-- reason      VARCHAR  Why it has no owner.
-- text        VARCHAR  Beginning of the line.
SELECT line_id, ordinal, time_us, source_id, unit, program, process_id, event, rule AS reason, text
FROM line
WHERE load_id IS NULL AND scope IS DISTINCT FROM 'ambiguous' AND suspect IS NULL
    AND (
        process_id IS NULL
        OR event IN (
            'allocation_failed', 'breakdown_reported', 'buffer_allocated', 'buffer_released', 'cache_described',
            'draft_accepted', 'layers_offloaded', 'load_ready', 'memory_estimated', 'memory_profiled', 'pool_sized',
            'prompt_saved', 'request_timed'
        )
    )
ORDER BY ordinal
