-- stored
--
-- Who asked for a load of an episode: one row a request that was being served when the load began, or its first.
--
-- covers: the request began before the load did and ended after it; a request for a model that is there already may
-- cover it too. first: the first request that the load's own lines show. Names no model unless the line does.
--
-- episode  BIGINT   Number of the episode.
-- load_id  VARCHAR  The load.
-- address  VARCHAR  Client address.
-- class    VARCHAR  local, non-local or unknown.
-- path     VARCHAR  Path.
-- how      VARCHAR  covers or first.
-- line_id  VARCHAR  The access line.
WITH covering AS (
    SELECT
        swap_runs.episode, swap_runs.load_id, requests.address, requests.class, requests.path, 'covers' AS how,
        requests.line_id
    FROM swap_runs
    JOIN load USING (load_id)
    JOIN requests
        ON requests.domain = swap_runs.domain AND requests.inference
        AND requests.begun_us <= load.begun_us AND requests.time_us >= load.begun_us
),
firsts AS (
    SELECT
        swap_runs.episode, swap_runs.load_id, arg_min(requests.address, requests.ordinal) AS address,
        arg_min(requests.class, requests.ordinal) AS class, arg_min(requests.path, requests.ordinal) AS path,
        'first' AS how, arg_min(requests.line_id, requests.ordinal) AS line_id
    FROM swap_runs
    JOIN requests ON requests.load_id = swap_runs.load_id AND requests.inference
    WHERE swap_runs.load_id NOT IN (SELECT load_id FROM covering)
    GROUP BY swap_runs.episode, swap_runs.load_id
)
SELECT * FROM covering
UNION ALL
SELECT * FROM firsts
ORDER BY episode, load_id, line_id
