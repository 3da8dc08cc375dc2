-- What a load's process has loaded on a card once its work asked for it, beyond the bare process: no line names it.
--
-- A setting of the load asks for it, and a prompt long enough came. How much that is was measured on such a card.
--
-- load_id     VARCHAR  The load.
-- device      VARCHAR  Device.
-- since_us    BIGINT   When the first such prompt began.
-- size_bytes  BIGINT   Amount: the middle of the interval.
-- low_bytes   BIGINT   Lower bound.
-- high_bytes  BIGINT   Upper bound.
-- note        VARCHAR  What it is and what asks for it.
-- lines       VARCHAR  Evidence: the setting and the prompt; line ids, separated by blanks.
WITH asked AS (
    SELECT
        library.load_id, library.device, library.name, library.from_tokens, library.size_bytes, library.low_bytes,
        library.high_bytes, configuration.name || ' = ' || configuration.value AS said, configuration.line_id
    FROM library
    JOIN configuration ON configuration.load_id = library.load_id AND configuration.name = library.setting
    WHERE configuration.origin = 'setting' AND regexp_full_match(configuration.value, library.value)
    QUALIFY row_number() OVER (
        PARTITION BY library.load_id, library.device, library.name
        ORDER BY configuration.name, configuration.part, library.value
    ) = 1
),
prompts AS (
    SELECT asked.load_id, asked.device, asked.name, min(moved.time_us) AS since_us, arg_min(moved.line_id, moved.ordinal) AS line_id
    FROM asked
    JOIN request_moved AS moved ON moved.load_id = asked.load_id AND moved.tokens >= asked.from_tokens
    WHERE moved.believed AND moved.time_us IS NOT NULL
    GROUP BY asked.load_id, asked.device, asked.name
)
SELECT
    asked.load_id, asked.device, max(since_us) AS since_us, sum(size_bytes)::BIGINT AS size_bytes, sum(low_bytes)::BIGINT AS low_bytes,
    sum(high_bytes)::BIGINT AS high_bytes, string_agg(name || ' (' || said || ')', ', ' ORDER BY name) AS note,
    string_agg(asked.line_id || ' ' || prompts.line_id, ' ' ORDER BY name) AS lines
FROM asked
JOIN prompts USING (load_id, device, name)
GROUP BY asked.load_id, asked.device
ORDER BY asked.load_id, asked.device
