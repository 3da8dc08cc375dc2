-- stored
--
-- One row a burst: three requests or more of one service that came within two seconds of each other, and whether they ran at once.
--
-- Only access lines with a latency tell it. serial: the longest wait is as many times the shortest as there are
-- requests (three quarters of it at least), and they ended one after another in steps of one kind: what is served in a
-- second is the same as of one request alone. at_once: all waited about as long (the longest no more than half as long
-- again). unclear: neither.
--
-- domain      VARCHAR  Host, boot and unit, or the source.
-- burst       BIGINT   Number of the burst in its domain.
-- load_id     VARCHAR  The load that served it: the only one there was, inferred.
-- begun_us    BIGINT   When the first came.
-- ended_us    BIGINT   When the last ended.
-- requests    BIGINT   Requests.
-- shortest_s  DOUBLE   Shortest wait.
-- longest_s   DOUBLE   Longest wait.
-- times       DOUBLE   Longest by shortest.
-- per_s       DOUBLE   Requests served a second, all of them.
-- alone_per_s DOUBLE   The same of the one that waited shortest.
-- ran         VARCHAR  serial, at_once or unclear.
-- lines       VARCHAR  Evidence, separated by blanks.
WITH asked AS (
    SELECT
        domain, line_id, ordinal, begun_us, time_us, elapsed_s,
        coalesce(begun_us - lag(begun_us) OVER (PARTITION BY domain ORDER BY begun_us, ordinal) > 2000000, true) AS apart
    FROM requests
    WHERE inference AND begun_us IS NOT NULL AND elapsed_s > 0 AND status BETWEEN 200 AND 299
),
numbered AS (
    SELECT *, sum(apart::INTEGER) OVER (PARTITION BY domain ORDER BY begun_us, ordinal) AS burst FROM asked
),
stepped AS (
    SELECT
        *,
        coalesce(
            (time_us - lag(time_us) OVER (PARTITION BY domain, burst ORDER BY time_us, ordinal)) / 1e6, elapsed_s
        ) AS step_s
    FROM numbered
),
bursts AS (
    SELECT
        domain, burst, min(begun_us) AS begun_us, max(time_us) AS ended_us, count(*) AS requests,
        min(elapsed_s) AS shortest_s, max(elapsed_s) AS longest_s, min(step_s) AS least_step_s, median(step_s) AS step_s,
        string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM stepped
    GROUP BY domain, burst
    HAVING count(*) >= 3
),
servers AS (
    SELECT bursts.domain, bursts.burst, any_value(load.load_id) AS load_id
    FROM bursts
    JOIN process_domain USING (domain)
    JOIN load USING (process_id)
    WHERE load.begun_us <= bursts.begun_us AND (load.ended_us IS NULL OR load.ended_us >= bursts.ended_us)
    GROUP BY bursts.domain, bursts.burst
    HAVING count(*) = 1
)
SELECT
    bursts.domain,
    bursts.burst::BIGINT AS burst,
    servers.load_id,
    bursts.begun_us,
    bursts.ended_us,
    bursts.requests,
    bursts.shortest_s,
    bursts.longest_s,
    bursts.longest_s / bursts.shortest_s AS times,
    bursts.requests / bursts.longest_s AS per_s,
    1 / bursts.shortest_s AS alone_per_s,
    CASE
        WHEN longest_s >= 0.75 * requests * shortest_s AND least_step_s >= step_s / 2 THEN 'serial'
        WHEN longest_s <= 1.5 * shortest_s THEN 'at_once'
        ELSE 'unclear'
    END AS ran,
    bursts.lines
FROM bursts
LEFT JOIN servers USING (domain, burst)
ORDER BY bursts.begun_us, bursts.domain
