-- stored
--
-- One row a load of an episode: what it took the place of, what it cost, whether it can have completed, whom it served.
--
-- A load that the log never calls ready and whose time until the next begins is shorter than the shortest load of that
-- model can have completed only from a warm page cache. Requests are those whose lines are this load's own; where a
-- supervisor's access lines say no model, they are counted by time and called inferred.
--
-- episode        BIGINT   Number of the episode.
-- load_id        VARCHAR  The load.
-- number         BIGINT   Its place in the case.
-- identity       VARCHAR  Label.
-- options        VARCHAR  Options.
-- swaps          BOOLEAN  Whether it took the place of another model's load.
-- why            VARCHAR  Why it began, as in load_starts.
-- begun_us       BIGINT   Begin.
-- begun_line     VARCHAR  Line of its begin.
-- loading_s      DOUBLE   Seconds until it got ready.
-- weights_bytes  BIGINT   Weights brought to cards.
-- held_bytes     BIGINT   What it held on cards: as measured, else as its ledger says.
-- held_by        VARCHAR  measured or logged.
-- stay_s         DOUBLE   Seconds until the next load of the episode began.
-- known_s        DOUBLE   Shortest time in which a load of this model got ready.
-- given_up       BOOLEAN  Whether a line says that its caller went before it was ready.
-- requests       BIGINT   Requests that it served.
-- requests_by    VARCHAR  line or time.
WITH ledger AS (
    SELECT
        load_id, sum(size_bytes) FILTER (WHERE kind = 'weights')::BIGINT AS weights_bytes,
        sum(size_bytes)::BIGINT AS held_bytes
    FROM vram_ledger
    WHERE place IN ('card', 'shared', 'remote')
    GROUP BY load_id
),
-- What it held at the last moment that was measured, over all its cards.
measured AS (
    SELECT load_id, arg_max(size_bytes, moment = 'last') AS measured_bytes
    FROM (
        SELECT load_id, moment, sum(measured_bytes)::BIGINT AS size_bytes
        FROM measure
        WHERE moment IN ('last', 'ready') AND measured_by = 'process'
        GROUP BY load_id, moment
    )
    GROUP BY load_id
),
served AS (
    SELECT load_id, count(*) AS requests FROM requests WHERE load_id IS NOT NULL AND inference GROUP BY load_id
),
timed AS (
    SELECT load_id, count(*) AS requests
    FROM request_timed
    WHERE believed AND load_id IS NOT NULL AND what = 'total'
    GROUP BY load_id
),
given_up AS (
    SELECT DISTINCT load_id FROM load_ended WHERE believed AND load_id IS NOT NULL AND reason = 'aborted'
),
members AS (
    SELECT
        swap_runs.*,
        lead(load_starts.begun_us) OVER (PARTITION BY swap_runs.episode ORDER BY swap_runs.place) AS next_us
    FROM swap_runs
    JOIN load_starts USING (load_id)
),
passing AS (
    SELECT members.episode, members.load_id, count(*) AS requests
    FROM members
    JOIN load USING (load_id)
    JOIN requests
        ON requests.domain = members.domain AND requests.load_id IS NULL AND requests.inference
        AND requests.time_us >= load.begun_us AND requests.time_us < members.next_us
    GROUP BY members.episode, members.load_id
)
SELECT
    members.episode, members.load_id, load.number, load_starts.identity, load_starts.options, members.swaps,
    load_starts.why,
    load.begun_us, load.begun_line,
    load_times.loading_s,
    ledger.weights_bytes,
    coalesce(measured.measured_bytes, ledger.held_bytes) AS held_bytes,
    CASE
        WHEN measured.measured_bytes IS NOT NULL THEN 'measured' WHEN ledger.held_bytes IS NOT NULL THEN 'logged'
    END AS held_by,
    (members.next_us - load.begun_us) / 1e6 AS stay_s,
    known_load_times.shortest_s AS known_s,
    given_up.load_id IS NOT NULL AS given_up,
    coalesce(served.requests, timed.requests, passing.requests) AS requests,
    CASE
        WHEN coalesce(served.requests, timed.requests) IS NOT NULL THEN 'line'
        WHEN passing.requests IS NOT NULL THEN 'time'
    END AS requests_by
FROM members
JOIN load USING (load_id)
JOIN load_starts USING (load_id)
LEFT JOIN load_times USING (load_id)
LEFT JOIN ledger USING (load_id)
LEFT JOIN measured USING (load_id)
LEFT JOIN given_up USING (load_id)
LEFT JOIN served USING (load_id)
LEFT JOIN timed USING (load_id)
LEFT JOIN passing ON passing.load_id = members.load_id AND passing.episode = members.episode
LEFT JOIN known_load_times ON known_load_times.model = load_starts.model
ORDER BY members.episode, members.place
