-- stored
--
-- One row a step: a change of what a process holds on a card, and what the log says of it.
--
-- Changes of one direction in samples that follow each other are one step. Items are those that the ledger counts on
-- that card. An item belongs to the first step up that ends after its line, or up to half a second before it, since the
-- line is printed when the memory is there; where none begins by then and a step of its size ended in the ten seconds
-- before, to that one, since some programs tell what they took. What is left is the rest: signed, never shared out. A rest of less than 96 MiB is
-- what a runtime takes beside, and rounding; while a process holds less than 700 MiB, a step may bring its runtime, up to
-- as much. passing: given back
-- within five seconds, as a reservation is that is made again. woken: what a load that fell asleep in its process had given
-- back, taken again when it woke. stranger: of a process that no log is of.
--
-- card_id       VARCHAR  Card.
-- pid           BIGINT   Process id on the host.
-- name          VARCHAR  Process name.
-- process_id    VARCHAR  Process that it was joined to.
-- load_id       VARCHAR  Load of the process then.
-- from_us       BIGINT   Last sample before the step.
-- at_us         BIGINT   Sample that shows it complete.
-- before_bytes  BIGINT   Held before.
-- after_bytes   BIGINT   Held after.
-- change_bytes  BIGINT   Change, signed.
-- named_bytes   BIGINT   Items of the log in it.
-- rest_bytes    BIGINT   Change less items.
-- items         VARCHAR  Their parts and kinds.
-- state         VARCHAR  named, runtime, small, passing, released, woken, stranger or unexplained.
-- why           VARCHAR  For released: how the load ended.
-- line_id       VARCHAR  Evidence: the row of telemetry.
-- lines         VARCHAR  Lines of the items, separated by blanks.
WITH cadence AS (
    SELECT card_id, min(usual_us) AS usual_us, max(until_us) AS until_us
    FROM sample_cadence
    WHERE series
    GROUP BY card_id
),
levels AS (
    SELECT
        *, coalesce(lag(used_bytes) OVER life, 0) AS before_bytes, lag(to_us) OVER life AS before_us,
        lead(from_us) OVER life AS next_us, row_number() OVER life AS place
    FROM holder_levels
    WINDOW life AS (PARTITION BY card_id, pid, process_id ORDER BY from_us, to_us, line_id)
),
-- What disappears from the samples while they go on has been given back.
gone AS (
    SELECT
        levels.card_id, pid, name, process_id, load_id, to_us AS from_us, to_us + cadence.usual_us::BIGINT AS at_us,
        used_bytes AS before_bytes, 0 AS after_bytes, line_id, place + 1 AS place
    FROM levels
    JOIN cadence USING (card_id)
    WHERE next_us IS NULL AND cadence.until_us > to_us + 2 * cadence.usual_us
),
changes AS (
    SELECT
        card_id, pid, name, process_id, load_id, before_us AS from_us, from_us AS at_us, before_bytes,
        used_bytes AS after_bytes, line_id, place
    FROM levels
    WHERE used_bytes <> before_bytes
    UNION ALL
    SELECT * FROM gone
),
runs AS (
    SELECT
        changes.*,
        coalesce(
            sign(after_bytes - before_bytes) <> sign(lag(after_bytes - before_bytes) OVER life)
            OR from_us IS DISTINCT FROM lag(at_us) OVER life
            OR lag(before_bytes) OVER life = 0, TRUE
        ) AS begins
    FROM changes
    WINDOW life AS (PARTITION BY card_id, pid, process_id ORDER BY place)
),
numbered AS (
    SELECT *, sum(begins::INTEGER) OVER (PARTITION BY card_id, pid, process_id ORDER BY place) AS step
    FROM runs
),
steps AS (
    SELECT
        card_id, pid, process_id, step, arg_min(name, place) AS name,
        arg_max(load_id, place) FILTER (WHERE load_id IS NOT NULL) AS load_id,
        arg_min(from_us, place) AS from_us, max(at_us) AS at_us, arg_min(before_bytes, place) AS before_bytes,
        arg_max(after_bytes, place) AS after_bytes, arg_max(line_id, place) AS line_id
    FROM numbered
    GROUP BY card_id, pid, process_id, step
),
logged AS (
    SELECT
        item.process_id, item.load_id, device.card_id, item.part, item.kind, item.size_bytes, item.at_us, item.line_id
    FROM item
    JOIN device USING (process_id, logged)
    WHERE item.mark = 'counted' AND device.card_id IS NOT NULL AND item.at_us IS NOT NULL
),
-- What follows from several lines has the time of the last of them.
derived AS (
    SELECT
        load.process_id, vram_items.load_id, device.card_id, vram_items.part, vram_items.kind, vram_items.size_bytes,
        max(line.time_us) AS at_us, arg_max(line.line_id, line.ordinal) AS line_id
    FROM vram_items
    JOIN load USING (load_id)
    JOIN device ON device.process_id = load.process_id AND device.device = vram_items.device
    JOIN line ON list_contains(string_split(vram_items.lines, ' '), line.line_id) AND line.load_id = vram_items.load_id
    WHERE vram_items.basis = 'derived' AND vram_items.kind <> 'headroom' AND vram_items.place = 'card'
        AND vram_items.moment IN ('last', 'log') AND device.card_id IS NOT NULL
        AND NOT EXISTS (
            SELECT 1
            FROM logged
            WHERE logged.load_id = vram_items.load_id AND logged.kind = vram_items.kind
                AND logged.part = vram_items.part
        )
    GROUP BY ALL
),
items AS (
    SELECT
        *, at_us - 500000 AS early_us,
        row_number() OVER (ORDER BY at_us, line_id, card_id, kind, part, size_bytes, load_id, process_id) AS item
    FROM (SELECT * FROM logged UNION ALL SELECT * FROM derived WHERE at_us IS NOT NULL)
),
rising AS (
    SELECT card_id, process_id, pid, step, from_us, at_us, before_bytes, after_bytes - before_bytes AS change_bytes
    FROM steps
    WHERE after_bytes > before_bytes AND process_id IS NOT NULL
),
next_step AS (
    SELECT
        items.item, rising.pid, rising.step,
        items.at_us >= rising.from_us - 500000 AND rising.change_bytes >= items.size_bytes - 96 * 1048576 AS inside
    FROM items
    ASOF JOIN (
        -- of what rises at one moment the first
        FROM rising QUALIFY row_number() OVER (PARTITION BY card_id, process_id, at_us ORDER BY pid, step) = 1
    ) AS rising
        ON rising.card_id = items.card_id AND rising.process_id = items.process_id AND rising.at_us >= items.early_us
),
told_after AS (
    SELECT
        items.item, arg_max(rising.pid, (rising.at_us, -rising.pid, -rising.step)) AS pid,
        arg_max(rising.step, (rising.at_us, -rising.pid, -rising.step)) AS step
    FROM items
    JOIN rising
        ON rising.card_id = items.card_id AND rising.process_id = items.process_id
        AND rising.at_us < items.early_us AND rising.at_us >= items.at_us - 10000000
        AND rising.change_bytes - items.size_bytes > -greatest(0.02 * items.size_bytes, 96 * 1048576)
        AND rising.change_bytes - items.size_bytes < 0.05 * items.size_bytes + 700 * 1048576
        AND items.size_bytes > 192 * 1048576 AND rising.before_bytes > 0
    WHERE items.item NOT IN (SELECT item FROM next_step WHERE inside)
    GROUP BY items.item
),
placed AS (
    SELECT item, pid, step FROM told_after
    UNION ALL
    SELECT item, pid, step FROM next_step WHERE item NOT IN (SELECT item FROM told_after)
),
named AS (
    SELECT
        items.card_id, placed.pid, items.process_id, placed.step, sum(items.size_bytes)::BIGINT AS named_bytes,
        string_agg(DISTINCT items.part || ' ' || items.kind, ', ' ORDER BY items.part || ' ' || items.kind) AS items,
        string_agg(items.line_id, ' ' ORDER BY items.at_us, items.line_id) AS lines
    FROM items
    JOIN placed USING (item)
    GROUP BY items.card_id, placed.pid, items.process_id, placed.step
),
ends AS (
    SELECT process_id, number, end_reason, coalesce(closing_us, ended_us) AS at_us
    FROM load
    WHERE coalesce(closing_us, ended_us) IS NOT NULL
    UNION ALL
    SELECT load.process_id, load.number, 'asleep', phase.at_us
    FROM phase
    JOIN load USING (load_id)
    WHERE phase.phase = 'asleep' AND phase.at_us IS NOT NULL AND load.end_reason <> 'sleep'
),
released AS (
    SELECT
        steps.card_id, steps.pid, steps.process_id, steps.step,
        arg_max(ends.end_reason, (ends.at_us, ends.number, ends.end_reason)) AS why
    FROM steps
    JOIN ends
        ON ends.process_id = steps.process_id
        AND ends.at_us >= coalesce(steps.from_us, steps.at_us) - 2000000
        AND ends.at_us <= steps.at_us + 2000000
    WHERE steps.after_bytes < steps.before_bytes
    GROUP BY steps.card_id, steps.pid, steps.process_id, steps.step
),
wakes AS (
    SELECT load.process_id, turns.at_us
    FROM (SELECT *, lag(phase) OVER (PARTITION BY load_id ORDER BY at_us, number) AS before FROM phase) AS turns
    JOIN load USING (load_id)
    WHERE turns.phase = 'serve' AND turns.before = 'asleep'
),
slept AS (
    SELECT steps.card_id, steps.pid, steps.process_id, max(steps.before_bytes) AS awake_bytes
    FROM steps
    JOIN released
        ON released.card_id = steps.card_id AND released.pid = steps.pid AND released.process_id = steps.process_id
        AND released.step = steps.step
    WHERE released.why = 'asleep'
    GROUP BY steps.card_id, steps.pid, steps.process_id
),
woken AS (
    SELECT DISTINCT steps.card_id, steps.pid, steps.process_id, steps.step
    FROM steps
    JOIN slept
        ON slept.card_id = steps.card_id AND slept.pid = steps.pid AND slept.process_id = steps.process_id
    JOIN wakes
        ON wakes.process_id = steps.process_id
        AND wakes.at_us >= coalesce(steps.from_us, steps.at_us) - 2000000 AND wakes.at_us <= steps.at_us + 2000000
    WHERE steps.after_bytes > steps.before_bytes AND steps.after_bytes < slept.awake_bytes + 96 * 1048576
),
measured AS (
    SELECT
        steps.*,
        steps.after_bytes - steps.before_bytes AS change_bytes,
        coalesce(named.named_bytes, 0) AS named_bytes,
        steps.after_bytes - steps.before_bytes - coalesce(named.named_bytes, 0) AS rest_bytes,
        named.items, named.lines, released.why, woken.step IS NOT NULL AS woken
    FROM steps
    LEFT JOIN named
        ON named.card_id = steps.card_id AND named.pid = steps.pid AND named.process_id = steps.process_id
        AND named.step = steps.step
    LEFT JOIN released
        ON released.card_id = steps.card_id AND released.pid = steps.pid AND released.process_id = steps.process_id
        AND released.step = steps.step
    LEFT JOIN woken
        ON woken.card_id = steps.card_id AND woken.pid = steps.pid AND woken.process_id = steps.process_id
        AND woken.step = steps.step
),
-- A step up that is given back at once, and the step down that does it.
passing AS (
    SELECT up.card_id, up.pid, up.process_id, up.step AS up_step, down.step AS down_step
    FROM measured AS up
    JOIN measured AS down
        ON down.card_id = up.card_id AND down.pid = up.pid AND down.process_id = up.process_id
        AND down.step = up.step + 1 AND down.at_us - up.at_us <= 5000000
    WHERE up.rest_bytes >= 96 * 1048576 AND down.change_bytes < 0
        AND abs(up.rest_bytes + down.change_bytes) < greatest(96 * 1048576, 0.1 * abs(down.change_bytes))
)
SELECT
    measured.card_id, measured.pid, measured.name, measured.process_id, measured.load_id, measured.from_us,
    measured.at_us, measured.before_bytes, measured.after_bytes, measured.change_bytes, measured.named_bytes,
    measured.rest_bytes, measured.items,
    CASE
        WHEN measured.process_id IS NULL THEN 'stranger'
        WHEN measured.why IS NOT NULL THEN 'released'
        WHEN measured.woken THEN 'woken'
        WHEN before_bytes = 0 AND named_bytes = 0 AND rest_bytes BETWEEN 0 AND 700 * 1048576 THEN 'runtime'
        WHEN before_bytes < 700 * 1048576 AND named_bytes > 0 AND rest_bytes BETWEEN -96 * 1048576 AND 700 * 1048576
            THEN 'named'
        WHEN passing.pid IS NOT NULL THEN 'passing'
        WHEN abs(rest_bytes) < 96 * 1048576 THEN CASE WHEN named_bytes > 0 THEN 'named' ELSE 'small' END
        ELSE 'unexplained'
    END AS state,
    measured.why, measured.line_id, measured.lines
FROM measured
LEFT JOIN passing
    ON passing.card_id = measured.card_id AND passing.pid = measured.pid AND passing.process_id = measured.process_id
    AND measured.step IN (passing.up_step, passing.down_step)
ORDER BY
    measured.at_us, measured.card_id, measured.pid, measured.process_id, measured.from_us NULLS FIRST, measured.line_id
