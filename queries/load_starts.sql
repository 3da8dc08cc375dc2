-- stored
--
-- One row a load in the order of its domain: what was there before, and why this one began.
--
-- Where a domain has no wall time, places among the lines stand for times (line_at).
-- evicted: a supervisor's own line says that a load has to go for it. gone: another load ended within 30 s before it,
-- or while it loaded, and not because its time to live was over. presumed: no end of the one before is logged, it was in
-- use less than its keep-alive ago, and it ended or its model begins again later. free: the one before had gone by itself. beside: the one before is still there. Of
-- the same model: woke, crashed, options, expired, restarted, again (the log does not say why).
--
-- load_id      VARCHAR   The load.
-- domain       VARCHAR   Host, boot and unit, or the source.
-- place        BIGINT    Its place in the domain.
-- model        VARCHAR   What models are compared by.
-- options      VARCHAR   Options.
-- identity     VARCHAR   Label.
-- begun_us     BIGINT    Begin.
-- begun_at     BIGINT    Begin, or the place of its first line.
-- ready_at     BIGINT    Ready, or the place of that line.
-- last_at      BIGINT    Its last line.
-- before_id    VARCHAR   The load before it.
-- why          VARCHAR   One of the words above.
-- keep_s       DOUBLE    Keep-alive: as set, else 300 s.
WITH marks AS (
    SELECT unnest([begun_line, ready_line, ended_line]) AS line_id FROM load
    UNION
    SELECT line_id FROM scheduler_decided
),
times AS MATERIALIZED (
    SELECT line_at.* FROM line_at SEMI JOIN marks USING (line_id)
),
lasting AS (
    SELECT load_id, max(line_at.at) AS last_at FROM line_at WHERE load_id IS NOT NULL GROUP BY load_id
),
broken AS (
    SELECT DISTINCT load_id
    FROM failure_reported
    WHERE believed AND load_id IS NOT NULL AND rank = 'root' AND failure NOT IN ('warning', 'request_failed')
),
-- OLLAMA_KEEP_ALIVE is printed with the other settings when the service starts; a negative one keeps for ever.
kept AS (
    SELECT
        process_domain.domain,
        arg_max(
            regexp_extract(arguments_reported.text, 'KEEP_ALIVE[:=]"?(-?[0-9hms.]+)', 1), arguments_reported.ordinal
        ) AS kept
    FROM arguments_reported
    JOIN process_domain USING (process_id)
    WHERE arguments_reported.believed AND arguments_reported.text LIKE '%KEEP_ALIVE%'
    GROUP BY process_domain.domain
),
keep AS (
    SELECT
        domain,
        CASE
            WHEN kept LIKE '-%' THEN 1e9
            WHEN kept = '' THEN 300.0
            WHEN regexp_full_match(kept, '[0-9.]+') THEN kept::DOUBLE
            ELSE coalesce(nullif(regexp_extract(kept, '([0-9.]+)h', 1), '')::DOUBLE, 0) * 3600
                + coalesce(nullif(regexp_extract(kept, '([0-9.]+)m', 1), '')::DOUBLE, 0) * 60
                + coalesce(nullif(regexp_extract(kept, '([0-9.]+)s', 1), '')::DOUBLE, 0)
        END AS keep_s
    FROM kept
),
placed AS (
    SELECT
        load.load_id, process_domain.domain, load_identity.model, load_identity.options, load_identity.identity,
        load.begun_us, load.end_reason, load.implied,
        coalesce(load.begun_us, begun.at) AS begun_at,
        coalesce(load.ready_us, ready.at) AS ready_at,
        coalesce(load.closing_us, load.ended_us, ended.at) AS gone_at,
        counted.line_id IS NOT NULL AS gone_by_count,
        lasting.last_at,
        broken.load_id IS NOT NULL AS broken,
        coalesce(keep.keep_s, 300.0) AS keep_s,
        row_number() OVER (PARTITION BY process_domain.domain ORDER BY load.number) AS place,
        lead(load.number) OVER same IS NOT NULL AS returns,
        lag(load.end_reason) OVER same = 'log_ends' AND NOT lag(broken.load_id IS NOT NULL) OVER same AS returned
    FROM load
    JOIN process_domain USING (process_id)
    JOIN load_identity USING (load_id)
    JOIN times AS begun ON begun.line_id = load.begun_line
    LEFT JOIN times AS ready ON ready.line_id = load.ready_line
    LEFT JOIN times AS ended ON ended.line_id = load.ended_line
    LEFT JOIN scheduler_decided AS counted ON counted.line_id = load.ended_line AND counted.what = 'count'
    LEFT JOIN lasting ON lasting.load_id = load.load_id
    LEFT JOIN broken ON broken.load_id = load.load_id
    LEFT JOIN keep USING (domain)
    WINDOW same AS (PARTITION BY process_domain.domain, load_identity.model ORDER BY load.number)
),
follows AS (
    SELECT
        placed.*,
        before.load_id AS before_id, before.model AS before_model, before.options AS before_options,
        before.end_reason AS before_end, before.begun_at AS before_begun, before.last_at AS before_last,
        before.gone_at AS before_gone, before.broken AS before_broken
    FROM placed
    LEFT JOIN placed AS before ON before.domain = placed.domain AND before.place = placed.place - 1
),
decided AS (
    SELECT process_domain.domain, times.at, what
    FROM scheduler_decided
    JOIN process_domain USING (process_id)
    JOIN times USING (line_id)
    WHERE believed AND what IN ('evict', 'expire')
),
witnessed AS (
    SELECT
        follows.load_id,
        bool_or(decided.what = 'evict') AS evicts,
        bool_or(decided.what = 'expire') AS expires
    FROM follows
    JOIN decided
        ON decided.domain = follows.domain
        AND decided.at > follows.before_begun
        AND decided.at <= follows.begun_at
    GROUP BY follows.load_id
),
-- Loads whose time to live a supervisor's line says was over: nobody took their place.
expired AS (
    SELECT process_domain.domain, regexp_extract(said.model, '[^/\\]+$') AS name, times.at
    FROM scheduler_decided AS said
    JOIN process_domain USING (process_id)
    JOIN times USING (line_id)
    WHERE said.what = 'expire' AND said.believed
        AND coalesce(said.reason, '') NOT LIKE '%failed%' AND coalesce(said.reason, '') NOT LIKE 'out of memory%'
),
names AS (
    SELECT load_id, domain, begun_at, gone_at, regexp_extract(model, '[^/\\]+$') AS name FROM placed
    UNION
    SELECT load_id, domain, begun_at, gone_at, identity FROM placed
),
expiries AS (
    SELECT DISTINCT names.load_id
    FROM names
    JOIN expired ON expired.domain = names.domain AND expired.name = names.name
    WHERE expired.at > names.begun_at AND expired.at <= names.gone_at
),
victims AS (
    SELECT
        follows.load_id,
        bool_or(other.end_reason = 'evicted') AS evicted,
        bool_or(
            other.end_reason <> 'sleep' AND expiries.load_id IS NULL AND other.gone_at >= follows.begun_at - 30000000
        ) AS just_gone
    FROM follows
    LEFT JOIN placed AS after ON after.domain = follows.domain AND after.place = follows.place + 1
    JOIN placed AS other
        ON other.domain = follows.domain
        AND other.place < follows.place
        AND other.model IS DISTINCT FROM follows.model
        AND other.gone_at > follows.before_begun
        AND (
            other.gone_at <= coalesce(follows.ready_at, follows.begun_at)
            -- A supervisor that only counts its children says after a load got ready that another had gone for it.
            OR (other.gone_by_count AND other.gone_at < coalesce(after.begun_at, other.gone_at + 1))
        )
    LEFT JOIN expiries ON expiries.load_id = other.load_id
    GROUP BY follows.load_id
),
-- A log that shows no end of a load whose model begins again later shows that it had ended; the last in turn is taken
-- to have done as those before it.
silent AS (
    SELECT DISTINCT follows.load_id
    FROM follows
    JOIN placed AS other
        ON other.domain = follows.domain
        AND other.place < follows.place
        AND other.model <> follows.model
        AND other.end_reason = 'log_ends'
        AND NOT other.broken
        AND other.last_at < follows.begun_at
        AND follows.begun_at - other.last_at < follows.keep_s * 1e6
        AND (other.returns OR (follows.returned AND other.place = follows.place - 1))
    WHERE NOT EXISTS (
        SELECT 1
        FROM placed AS again
        WHERE again.domain = other.domain AND again.model = other.model
            AND again.place > other.place AND again.place < follows.place
    )
)
SELECT
    follows.load_id,
    follows.domain,
    follows.place,
    follows.model,
    follows.options,
    follows.identity,
    follows.begun_us,
    follows.begun_at,
    follows.ready_at,
    follows.last_at,
    follows.before_id,
    CASE
        WHEN before_id IS NULL THEN 'first'
        WHEN follows.model IS NOT DISTINCT FROM before_model THEN CASE
            WHEN before_end = 'sleep' THEN 'woke'
            WHEN before_end IN ('crashed', 'failed', 'killed') OR before_broken THEN 'crashed'
            WHEN options IS NOT NULL AND before_options IS NOT NULL AND options <> before_options THEN 'options'
            WHEN coalesce(witnessed.expires, FALSE) OR follows.begun_at - before_last >= keep_s * 1e6 THEN 'expired'
            WHEN before_end IN ('stopped', 'exit') THEN 'restarted'
            ELSE 'again'
        END
        WHEN coalesce(witnessed.evicts, FALSE) OR coalesce(victims.evicted, FALSE) THEN 'evicted'
        WHEN coalesce(victims.just_gone, FALSE) THEN 'gone'
        WHEN before_gone IS NOT NULL AND before_gone <= follows.begun_at THEN 'free'
        WHEN before_end = 'unknown' AND before_gone IS NULL THEN
            CASE WHEN follows.begun_at - before_last < keep_s * 1e6 THEN 'presumed' ELSE 'free' END
        WHEN silent.load_id IS NOT NULL THEN 'presumed'
        ELSE 'beside'
    END AS why,
    follows.keep_s
FROM follows
LEFT JOIN witnessed USING (load_id)
LEFT JOIN victims USING (load_id)
LEFT JOIN silent USING (load_id)
ORDER BY follows.domain, follows.place
