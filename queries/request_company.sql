-- stored
--
-- One row a timed request of a load with what ran beside it: other requests of its load, and those of other loads.
--
-- Foreign time is a gauge of what else ran, not of what it cost.
--
-- load_id        VARCHAR  The load.
-- request        BIGINT   Key: place of its first timing line among all matched lines.
-- others         BIGINT   Other requests of this load that ran at some time beside it; none if lines do not say when.
-- foreign_share  DOUBLE   Share of its time during which another load of this host ran a request; may exceed 1.
WITH moved AS (
    SELECT
        load_id, task, min(ordinal) AS first, max(ordinal) AS last,
        min(time_us) FILTER (what IN ('launched', 'received')) AS begun_us,
        max(time_us) FILTER (what = 'released') AS released_us
    FROM request_moved
    WHERE believed AND load_id IS NOT NULL AND task >= 0
    GROUP BY load_id, task
),
-- What is beside a request begins before its end and ends after its begin: of all that begin before its end, those that
-- end before its begin are not. So they are counted, and no request is held against each other.
begins AS (
    SELECT load_id, first, row_number() OVER (PARTITION BY load_id ORDER BY first) AS begun FROM moved
),
ends AS (
    SELECT load_id, last, row_number() OVER (PARTITION BY load_id ORDER BY last) AS ended FROM moved
),
company AS (
    SELECT
        mine.load_id, mine.request,
        begins.begun - coalesce(ends.ended, 0)
            - (own.task IS NOT NULL AND own.first < mine.last AND mine.first < own.last)::INTEGER AS others
    FROM request_spans AS mine
    ASOF JOIN begins ON begins.load_id = mine.load_id AND begins.first < mine.last
    ASOF LEFT JOIN ends ON ends.load_id = mine.load_id AND ends.last <= mine.first
    LEFT JOIN moved AS own ON own.load_id = mine.load_id AND own.task = mine.task
    WHERE mine.task IS NOT NULL
),
-- How long all requests of a host, and those of each load, had been under way in sum until a moment: what others were
-- under way beside a request is the difference of these sums between its begin and its end.
steps AS (
    SELECT 'host ' || coalesce(process.host, '') AS host, moved.load_id, unnest([moved.begun_us, released_us]) AS moment, unnest([1, -1]) AS step
    FROM moved
    JOIN load USING (load_id)
    JOIN process USING (process_id)
    WHERE moved.begun_us < moved.released_us
),
sums AS MATERIALIZED (
    SELECT whose, moment, sum(sum(step)) OVER told AS under_way, sum(sum(step * moment::HUGEINT)) OVER told AS begun_sum
    FROM (SELECT host AS whose, moment, step FROM steps UNION ALL SELECT load_id, moment, step FROM steps)
    GROUP BY whose, moment
    WINDOW told AS (PARTITION BY whose ORDER BY moment)
),
hosted AS (
    SELECT requests.load_id, requests.request, requests.begun_us, requests.ended_us, 'host ' || coalesce(process.host, '') AS host
    FROM request_spans AS requests
    JOIN load USING (load_id)
    JOIN process USING (process_id)
    WHERE requests.begun_us < requests.ended_us
),
foreigners AS (
    SELECT
        mine.load_id, mine.request,
        (
            coalesce(all_then.under_way * mine.ended_us - all_then.begun_sum, 0)
                - coalesce(all_first.under_way * mine.begun_us - all_first.begun_sum, 0)
                - coalesce(own_then.under_way * mine.ended_us - own_then.begun_sum, 0)
                + coalesce(own_first.under_way * mine.begun_us - own_first.begun_sum, 0)
        ) / (mine.ended_us - mine.begun_us) AS foreign_share
    FROM hosted AS mine
    ASOF LEFT JOIN sums AS all_then ON all_then.whose = mine.host AND all_then.moment <= mine.ended_us
    ASOF LEFT JOIN sums AS all_first ON all_first.whose = mine.host AND all_first.moment <= mine.begun_us
    ASOF LEFT JOIN sums AS own_then ON own_then.whose = mine.load_id AND own_then.moment <= mine.ended_us
    ASOF LEFT JOIN sums AS own_first ON own_first.whose = mine.load_id AND own_first.moment <= mine.begun_us
)
SELECT
    requests.load_id,
    requests.request,
    company.others,
    CASE WHEN requests.begun_us IS NOT NULL AND requests.ended_us IS NOT NULL
        THEN coalesce(foreigners.foreign_share, 0) END AS foreign_share
FROM request_spans AS requests
LEFT JOIN company USING (load_id, request)
LEFT JOIN foreigners USING (load_id, request)
ORDER BY request
