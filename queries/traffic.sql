-- stored
--
-- Who asked how often: one row a minute and address.
--
-- A request counts in the minute in which its access line was written, which is when it ended. Model requests ask a
-- model for something; the others are health checks, listings and the like. Requests without any time are one row
-- an address, without a minute.
--
-- minute_us       BIGINT   Begin of the minute, µs UTC; none if the lines have no time.
-- domain          VARCHAR  Host, boot and unit, or the source.
-- address         VARCHAR  Client address.
-- class           VARCHAR  local, non-local or unknown.
-- requests        BIGINT   Requests.
-- model_requests  BIGINT   Of those, that ask a model for something.
-- refused         BIGINT   Of those, answered with status 400 or above.
-- inferred        BIGINT   Of those, with the time of the line before, since they have none of their own.
-- stamped         BIGINT   Of those, with a local time whose zone the lines around them tell.
-- first_us        BIGINT   End of the first.
-- last_us         BIGINT   End of the last.
-- line_id         VARCHAR  The first line.
SELECT
    time_us // 60000000 * 60000000 AS minute_us,
    domain,
    address,
    class,
    count(*) AS requests,
    count(*) FILTER (WHERE inference) AS model_requests,
    count(*) FILTER (WHERE status >= 400) AS refused,
    count(*) FILTER (WHERE timed_by = 'line before') AS inferred,
    count(*) FILTER (WHERE timed_by = 'local time') AS stamped,
    min(time_us) AS first_us,
    max(time_us) AS last_us,
    arg_min(line_id, ordinal) AS line_id
FROM requests
GROUP BY ALL
ORDER BY minute_us, domain, address
