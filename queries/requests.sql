-- stored
--
-- One row an access line: who asked for what, when it began and ended, and from where.
--
-- An access line is written when the request ends; it began its latency earlier, if the line prints one. Local is
-- loopback and a socket of the host; every other address is another machine's, or this one's by its own address.
-- Where it has a local time without a zone it was written after the last line before it that has a time: its end is
-- then that line's time, inferred.
--
-- line_id    VARCHAR  The line.
-- ordinal    BIGINT   Its place.
-- domain     VARCHAR  Host, boot and unit, or the source.
-- time_us    BIGINT   End, µs UTC.
-- timed_by   VARCHAR  line, line before, or nothing.
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
        request_served.* EXCLUDE (time_us), CASE WHEN line_at.at > line_at.ordinal THEN line_at.at END AS time_us,
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
FROM served
ORDER BY ordinal
