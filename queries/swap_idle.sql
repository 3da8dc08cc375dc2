-- stored
--
-- One row an episode whose requests are logged: how many there were, from where, and the longest time without any.
--
-- A request lasts from its begin, where its latency is printed, to its end. What fits into the longest pause, a swap
-- or a measurement, depends on how long those take.
--
-- episode     BIGINT  Number of the episode.
-- requests    BIGINT  Requests in its span.
-- non_local   BIGINT  Of those, from other machines.
-- pause_s     DOUBLE  Longest time without any.
WITH inside AS (
    SELECT
        swap_episodes.episode, swap_episodes.begun_us AS from_us, swap_episodes.until_us,
        requests.time_us, coalesce(requests.begun_us, requests.time_us) AS begun_us, requests.class
    FROM swap_episodes
    JOIN requests
        ON requests.domain = swap_episodes.domain AND requests.inference
        AND requests.time_us >= swap_episodes.begun_us
        AND coalesce(requests.begun_us, requests.time_us) <= swap_episodes.until_us
),
busy AS (
    SELECT
        *, coalesce(
            max(time_us) OVER (
                PARTITION BY episode ORDER BY begun_us, time_us ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ),
            from_us
        ) AS busy_us
    FROM inside
)
SELECT
    episode,
    count(*) AS requests,
    count(*) FILTER (WHERE class = 'non-local') AS non_local,
    greatest(max(begun_us - busy_us), any_value(until_us) - max(time_us), 0) / 1e6 AS pause_s
FROM busy
GROUP BY episode
ORDER BY episode
