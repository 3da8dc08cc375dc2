-- stored
--
-- One row an access line: who asked for what, when it began and ended, and from where.
--
-- An access line is written when the request ends; it began its latency earlier, if the line prints one. Local is
-- loopback and a socket of the host; every other address is another machine's, or this one's by its own address.
-- Where it has a local time without a zone, the zone is the one in which all such times of its source lie between the times
-- of the lines around them, if there is only one. Otherwise its end is the time of the last line before it, inferred.
--
-- line_id    VARCHAR  The line.
-- ordinal    BIGINT   Its place.
-- domain     VARCHAR  Host, boot and unit, or the source.
-- time_us    BIGINT   End, µs UTC.
-- timed_by   VARCHAR  line, local time, line before, or nothing.
-- begun_us   BIGINT   Begin, if the latency is printed.
-- load_id    VARCHAR  Load that answered, if the line says so.
-- address    VARCHAR  Client address without its port.
-- class      VARCHAR  local, non-local or unknown.
-- method     VARCHAR  HTTP method.
-- path       VARCHAR  Path.
-- status     BIGINT   HTTP status.
-- elapsed_s  DOUBLE   Latency.
-- inference  BOOLEAN  Whether it asks a model for something, and is no health check or listing.
WITH served AS (
    SELECT
        request_served.* EXCLUDE (time_us), CASE WHEN line_at.at > line_at.ordinal THEN line_at.at END AS at_us,
        CASE
            WHEN request_served.time_us IS NOT NULL THEN 'line' WHEN line_at.at > line_at.ordinal THEN 'line before'
        END AS timed_by,
        line.source_id, line.text, line.host,
        coalesce(process_domain.domain, line.source_id) AS domain,
        -- [::1]:4242 and 10.0.0.7:4242: the port is the client's own, and differs with each connection
        regexp_replace(
            regexp_replace(trim(coalesce(request_served.address, '')), '^\[([^\]]*)\](?::\d+)?$', '\1'),
            '^([^:]+):\d+$', '\1'
        ) AS client
    FROM request_served
    JOIN line USING (line_id)
    LEFT JOIN process_domain ON process_domain.process_id = request_served.process_id
    JOIN line_at USING (line_id)
    WHERE request_served.believed
),
stamped AS (
    SELECT line_id, source_id, ordinal, epoch_us(try_strptime(stamp, '%Y/%m/%d - %H:%M:%S')) AS local_us, at_us AS before_us
    FROM served
    WHERE timed_by IS DISTINCT FROM 'line' AND stamp IS NOT NULL
),
between_lines AS (
    SELECT stamped.*, timed.time_us AS after_us
    FROM stamped
    ASOF LEFT JOIN (
        SELECT source_id, ordinal, time_us FROM line SEMI JOIN stamped USING (source_id) WHERE time_us IS NOT NULL
    ) AS timed
        ON timed.source_id = stamped.source_id AND timed.ordinal >= stamped.ordinal
),
-- A stamp is cut to its second, and a line may be written a second late. Zones are whole quarters of an hour.
zones AS (
    SELECT
        source_id, (ceil((max(local_us - after_us) - 1000000) / 900e6) * 900e6)::BIGINT AS zone_us,
        min(local_us - before_us) + 2000000 AS most_us
    FROM between_lines
    GROUP BY source_id
),
local_times AS (
    SELECT line_id, least(greatest(local_us - zone_us, before_us), after_us) AS time_us
    FROM between_lines
    JOIN zones USING (source_id)
    WHERE zone_us <= most_us AND zone_us + 900000000 > most_us AND local_us IS NOT NULL
),
placed AS (
    SELECT
        served.* EXCLUDE (at_us, timed_by), coalesce(local_times.time_us, served.at_us) AS time_us,
        CASE WHEN local_times.time_us IS NOT NULL THEN 'local time' ELSE served.timed_by END AS timed_by
    FROM served
    LEFT JOIN local_times USING (line_id)
)
SELECT
    line_id,
    ordinal,
    domain,
    time_us,
    timed_by,
    time_us - (elapsed_s * 1e6)::BIGINT AS begun_us,
    load_id,
    client AS address,
    CASE
        WHEN client = '' THEN 'unknown'
        WHEN regexp_matches(client, '^(127\.|::1$|::ffff:127\.|localhost$|@|unix:|/)') THEN 'local'
        ELSE 'non-local'
    END AS class,
    method,
    path,
    status,
    elapsed_s,
    coalesce(method = 'POST', FALSE) AND coalesce(
        regexp_matches(
            path,
            '(completions?|messages|responses|embeddings?|embed|generate|chat|infill|rerank(ing)?|score)/?(\?.*)?$'
        ), FALSE
    ) AS inference
FROM placed
ORDER BY ordinal
