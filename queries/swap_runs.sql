-- stored
--
-- One row a load of an episode: loads that took each other's place, or that began again and again.
--
-- ping_pong: two or more models that return within their keep-alive of having gone (an hour, where the supervisor says
-- that it evicted them), with at least four residencies. sequence: three or more models one after the other, none of
-- which returns. reload: one model, two times or more with other options. crash_loop: one model that began again after
-- two crashes or more. Loads that stayed beside the others, woke, expired or were restarted are in none.
--
-- episode    BIGINT   Number of the episode, by time.
-- kind       VARCHAR  ping_pong, sequence, reload or crash_loop.
-- domain     VARCHAR  Host, boot and unit, or the source.
-- load_id    VARCHAR  The load.
-- place      BIGINT   Its place in the domain.
-- swaps      BOOLEAN  Whether it took the place of another model's load of this episode.
WITH taking AS (
    SELECT
        *, lag(model) OVER (PARTITION BY domain ORDER BY place) AS model_before,
        lag(load_id) OVER (PARTITION BY domain ORDER BY place) IS NULL OR why IN ('first', 'free') AS breaks
    FROM load_starts
    WHERE why <> 'beside'
),
islands AS (
    SELECT *, sum(breaks::INTEGER) OVER (PARTITION BY domain ORDER BY place) AS island
    FROM taking
),
residencies AS (
    SELECT *, sum((breaks OR model IS DISTINCT FROM model_before)::INTEGER) OVER (
        PARTITION BY domain ORDER BY place
    ) AS residency
    FROM islands
),
-- One residency: a model's loads with no other's in between. It is over when the next one's begins.
stays AS (
    SELECT
        domain, island, residency, any_value(model) AS model, min(place) AS place, min(begun_at) AS begun_at,
        bool_or(why = 'evicted') AS evicted, max(keep_s) AS keep_s
    FROM residencies
    GROUP BY domain, island, residency
),
over AS (
    SELECT
        *, lead(begun_at) OVER within AS over_at, lead(evicted) OVER within AS over_evicted
    FROM stays
    WINDOW within AS (PARTITION BY domain, island ORDER BY residency)
),
revisits AS (
    SELECT
        *,
        lag(residency) OVER same AS residency_before,
        begun_at - lag(over_at) OVER same
            < 1e6 * greatest(keep_s, CASE WHEN lag(over_evicted) OVER same THEN 3600 ELSE 0 END) AS returns
    FROM over
    WINDOW same AS (PARTITION BY domain, island, model ORDER BY residency)
),
spans AS (
    SELECT
        domain, island, min(residency_before) AS from_residency, max(residency) AS to_residency
    FROM revisits
    WHERE returns AND model IS NOT NULL
    GROUP BY domain, island
    HAVING count(DISTINCT model) >= 2
),
ping_pong AS (
    SELECT 'ping_pong' AS kind, residencies.domain, residencies.load_id, residencies.place, spans.from_residency AS part
    FROM residencies
    JOIN spans USING (domain, island)
    WHERE residencies.residency BETWEEN spans.from_residency AND spans.to_residency
),
sequences AS (
    SELECT 'sequence' AS kind, residencies.domain, residencies.load_id, residencies.place, residencies.island AS part
    FROM residencies
    JOIN (
        SELECT domain, island
        FROM residencies
        WHERE model IS NOT NULL
        GROUP BY domain, island
        HAVING count(DISTINCT model) >= 3 AND count(DISTINCT model) = count(DISTINCT residency)
    ) AS plain USING (domain, island)
),
-- Loads of one model that follow each other for one reason; the load before the first belongs to them.
repeats AS (
    SELECT *, place - row_number() OVER (PARTITION BY domain, why ORDER BY place) AS part
    FROM load_starts
    WHERE why IN ('options', 'crashed')
),
loops AS (
    SELECT
        CASE why WHEN 'options' THEN 'reload' ELSE 'crash_loop' END AS kind, domain,
        min(place) - 1 AS from_place, max(place) AS to_place
    FROM repeats
    GROUP BY domain, why, part
    HAVING count(*) >= 2
),
looping AS (
    SELECT loops.kind, loops.domain, load_starts.load_id, load_starts.place, loops.from_place AS part
    FROM loops
    JOIN load_starts
        ON load_starts.domain = loops.domain
        AND load_starts.place BETWEEN loops.from_place AND loops.to_place
),
found AS (
    SELECT * FROM ping_pong
    UNION ALL SELECT * FROM sequences
    UNION ALL SELECT * FROM looping
),
firsts AS (
    SELECT kind, domain, part, min(load.number) AS first_number
    FROM found
    JOIN load USING (load_id)
    GROUP BY kind, domain, part
),
numbered AS (
    SELECT *, row_number() OVER (ORDER BY first_number, kind) AS episode
    FROM firsts
)
SELECT
    numbered.episode,
    found.kind,
    found.domain,
    found.load_id,
    found.place,
    lag(found.load_id) OVER in_turn IS NOT NULL
        AND load_starts.model IS DISTINCT FROM lag(load_starts.model) OVER in_turn AS swaps
FROM found
JOIN numbered USING (kind, domain, part)
JOIN load_starts USING (load_id)
WINDOW in_turn AS (PARTITION BY numbered.episode ORDER BY found.place)
ORDER BY numbered.episode, found.place
