-- stored
--
-- The tightest card under a pool that several cards share, and what the roomiest of them cannot use for it.
--
-- A tensor-parallel pool has the same number of blocks on each card, so the card with the least free memory when the load
-- began binds it. The stranded amount is the difference in free memory to the roomiest card: an upper bound, since the
-- weights may differ too.
--
-- load_id         VARCHAR  The load.
-- cards           BIGINT   Cards that it holds.
-- tight_card      VARCHAR  Card with the least free memory.
-- tight_bytes     BIGINT   Free on it.
-- roomy_card      VARCHAR  Card with the most.
-- roomy_bytes     BIGINT   Free on it.
-- stranded_bytes  BIGINT   Difference.
-- origin          VARCHAR  telemetry or log.
-- lines           VARCHAR  Evidence: line ids, separated by blanks.
WITH held AS (
    SELECT DISTINCT load.load_id, coalesce(card.gpu_index::VARCHAR, card.card_id) AS card, device.device
    FROM load
    JOIN device USING (process_id)
    LEFT JOIN card USING (card_id)
    WHERE device.place = 'card'
    UNION
    -- A log that names no device: the cards that its process was sampled to hold.
    SELECT load.load_id, coalesce(card.gpu_index::VARCHAR, card.card_id) AS card, NULL AS device
    FROM load
    JOIN holder_sample USING (process_id)
    JOIN card USING (card_id)
),
free AS (
    SELECT DISTINCT memory.load_id, memory.card, memory.origin, memory.free_bytes, memory.line_id
    FROM start_memory AS memory
    JOIN held ON held.load_id = memory.load_id
        AND CASE memory.origin WHEN 'telemetry' THEN held.card ELSE held.device END = memory.card
    WHERE memory.free_bytes IS NOT NULL
    QUALIFY memory.origin = max(memory.origin) OVER (PARTITION BY memory.load_id)
)
SELECT
    load_id,
    count(*) AS cards,
    first(card ORDER BY free_bytes, card) AS tight_card,
    min(free_bytes) AS tight_bytes,
    first(card ORDER BY free_bytes DESC, card) AS roomy_card,
    max(free_bytes) AS roomy_bytes,
    max(free_bytes) - min(free_bytes) AS stranded_bytes,
    min(origin) AS origin,
    concat_ws(
        ' ', first(line_id ORDER BY free_bytes, card, line_id), first(line_id ORDER BY free_bytes DESC, card, line_id)
    ) AS lines
FROM free
GROUP BY load_id
HAVING count(*) > 1
ORDER BY load_id
