-- stored
--
-- One row a line that tells of a failure, whoever wrote it: its process, its supervisor, the service manager, a proxy.
--
-- One failure is told several times: a refused allocation in MiB, in bytes and by the graph; a root with its wrappers; a
-- crash, the supervisor's word of it, and the 502 that the client got. An answer of a supervisor names no load: it is here
-- (as `answer`, which is inferred) only while no other load of that supervisor was alive, and until its next one begins.
--
-- load_id   VARCHAR  The load.
-- failure   BIGINT   1, 2, … within the load.
-- ordinal   BIGINT   Place of the line among all lines.
-- line_id   VARCHAR  The line.
-- role      VARCHAR  root, follows (repeats, wrappers, consequences), end (what says that the load ended so) or answer.
-- program   VARCHAR  Whose line it is.
WITH told AS (
    SELECT failures.load_id, failures.failure, line.ordinal, line.line_id, line.program,
        CASE WHEN line.line_id = failures.root_line THEN 'root' ELSE 'follows' END AS role
    FROM failures
    JOIN failure_lines USING (load_id)
    JOIN line ON line.line_id = failure_lines.line_id
    WHERE line.ordinal BETWEEN failures.first_ordinal AND failures.last_ordinal
),
fatal AS (
    SELECT failures.load_id, failures.failure, failures.first_ordinal, load.process_id
    FROM failures
    JOIN load USING (load_id)
    WHERE failures.outcome = 'ended'
),
last_lines AS (
    -- a supervisor's line is its own, and names the child that it ends
    SELECT fatal.load_id, fatal.failure, fatal.first_ordinal, line.ordinal, line.line_id, line.program
    FROM fatal
    JOIN line USING (load_id)
    UNION
    SELECT load.load_id, fatal.failure, fatal.first_ordinal, line.ordinal, line.line_id, line.program
    FROM load
    JOIN fatal USING (load_id)
    JOIN line ON line.line_id = load.ended_line
),
ends AS (
    SELECT last_lines.load_id, last_lines.failure, last_lines.ordinal, last_lines.line_id, last_lines.program,
        'end' AS role
    FROM last_lines
    LEFT JOIN load_ended USING (line_id)
    LEFT JOIN service_changed USING (line_id)
    WHERE last_lines.ordinal >= last_lines.first_ordinal
        AND (
            load_ended.reason IN ('crashed', 'failed', 'killed', 'aborted')
            OR service_changed.what IN ('exited', 'failed', 'oom_killed', 'killed')
        )
),
alive AS (
    SELECT load.load_id, process.parent_id, begun.ordinal AS begun, ended.ordinal AS ended
    FROM load
    JOIN process USING (process_id)
    JOIN line AS begun ON begun.line_id = load.begun_line
    LEFT JOIN line AS ended ON ended.line_id = load.ended_line
    WHERE process.parent_id IS NOT NULL
),
answers AS (
    SELECT fatal.load_id, fatal.failure, line.ordinal, line.line_id, line.program, 'answer' AS role
    FROM fatal
    JOIN alive AS own ON own.load_id = fatal.load_id
    JOIN request_served ON request_served.status >= 500 AND request_served.process_id = own.parent_id
    JOIN line ON line.line_id = request_served.line_id
    WHERE line.ordinal >= fatal.first_ordinal
        AND NOT EXISTS (
            SELECT 1 FROM alive AS other
            WHERE other.load_id <> own.load_id AND other.parent_id = own.parent_id AND other.begun < line.ordinal
                AND coalesce(other.ended >= fatal.first_ordinal, true)
        )
)
SELECT load_id, failure, ordinal, line_id, role, program FROM told
UNION
SELECT load_id, failure, ordinal, line_id, role, program FROM ends
UNION
SELECT load_id, failure, ordinal, line_id, role, program FROM answers
ORDER BY load_id, failure, ordinal, role
