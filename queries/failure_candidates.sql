-- stored
--
-- A class that a failure may belong to, by its signature, with what would separate it from the others.
--
-- Candidates, never causes. A signature is an error class and, where given, words, a kind of the host's lines, the amount
-- refused in MiB, the tokens of the request in flight, whether the load speculates, and whether it told of a patch that was
-- not applied. What the host logged counts only where it is linked by unit, process id or card. Classes named by a project
-- say so: they are about its configurations, and dated.
--
-- load_id    VARCHAR  The load.
-- failure    BIGINT   Failure within the load.
-- class      VARCHAR  Class.
-- about      VARCHAR  What it would mean.
-- separates  VARCHAR  What would tell it from others.
-- source     VARCHAR  Who says so.
-- lines      VARCHAR  Evidence of the host, or of the patches, separated by blanks, if the class needs it.
WITH known (
    class, error_class, message, host, tried_low, tried_high, tokens_low, tokens_high, speculates, about, separates, source
) AS (
    VALUES
    ('host_oom_kill', 'killed|exited|no_word|worker_died|engine_died', NULL, 'oom_killed', NULL::DOUBLE, NULL::DOUBLE,
        NULL::BIGINT, NULL::BIGINT, NULL::BOOLEAN, 'the kernel killed it because the host ran out of memory',
        'the kernel log names the process and its memory', 'the kernel log'),
    ('external_kill', 'killed', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'a signal from outside ended it: no error of its own', 'who sent it: a guard, an operator, the kernel',
        'the service manager'),
    ('gone_without_a_word', 'no_word', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'its process was gone and left no line: a kill from outside, or a death that writes nothing',
        'the kernel log and the service manager of that minute; the exit status of the process', 'the absence of a line'),
    ('exited_with_a_status', 'exited', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'its process ended by itself, and its supervisor tells how; no line of its own tells why',
        'its own last words: a higher log level; the kernel log of that minute', 'its supervisor'),
    ('card_fault', '.*', NULL, 'xid', NULL, NULL, NULL, NULL, NULL,
        'the driver reported an error of the card', 'the number: 31 is a bad access by a program, 79 a lost card',
        'the kernel log'),
    ('kv_fit', 'kv_too_small|no_blocks', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'the cache that fits is smaller than asked', 'a shorter length, or a larger share of the card', 'the line itself'),
    ('boot_free_memory', 'free_memory', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'others held the card when it started', 'who holds the card before the start', 'the line itself'),
    ('unsupported', 'configuration|assertion|exception|load_failed|aborted|no kernel image.*',
        '(?i)not support|unsupported|unknown (model architecture|quantization)|no kernel image|cannot run the operation',
        NULL, NULL, NULL, NULL, NULL, NULL, 'the build cannot run this model, format or card', 'another build or another format of the same model',
        'the line itself'),
    ('patches_not_applied', 'configuration|assertion|exception|load_failed|aborted', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'a patch over the program was not applied: it was written for another build',
        'the same start without the patches, or with the build that they are for', 'its own lines of the patches'),
    ('buffer_limit', 'buffer_limit', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'one buffer is larger than the driver allows for any, however much memory is free',
        'a smaller batch (-ub) or context; the limit is in vulkaninfo (maxBufferSize, maxMemoryAllocationSize)',
        'the line itself'),
    ('cliff_1', 'out_of_memory', NULL, NULL, 38, 140, 25000, NULL, NULL,
        'a long prompt with tools: the scratch of attention or of the feed-forward layer did not fit',
        'the stack: softmax scratch (50 MiB) or feed-forward (138 MiB)', 'club-3090, 2026: its own configurations'),
    ('cliff_2a', 'out_of_memory', NULL, NULL, 38, 51, 50000, NULL, NULL,
        'one prompt above 50 to 60 thousand tokens: a chunked operator asked for its scratch',
        'the stack: chunk_fwd_o calls empty_like', 'club-3090, 2026: its own configurations'),
    ('cliff_2b', 'out_of_memory', NULL, NULL, 38, 51, 21000, 26999, NULL,
        'a conversation that grew to 21 to 26 thousand tokens: fragmentation, not the pool',
        'whether memory grew turn by turn; the stack: chunk_fwd_o calls empty_like',
        'club-3090, 2026: its own configurations'),
    ('speculation_illegal_access', 'an illegal memory access.*', NULL, NULL, NULL, NULL, NULL, NULL, true,
        'a drafter wrote a token id that is none', 'the same requests with speculation off', 'club-3090 issue 758'),
    ('reported_late', '(?i)an illegal memory access.*|misaligned address|unspecified launch failure|device-side assert.*',
        NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'a call before the one that is named made it: the driver reports errors late',
        'the same requests with CUDA_LAUNCH_BLOCKING=1: it then surfaces at the call that made it',
        'the driver''s documentation'),
    ('data_dependent_library_failure', 'an internal operation failed', NULL, NULL, NULL, NULL, 1000, NULL, NULL,
        'a matrix library fails in the prefill of certain prompts only, each time',
        'the same prompt with -ub 256; another text of the same length', 'llama.cpp issues 28377 and 23407'),
    ('device_out_of_memory', 'out of memory|out_of_memory', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'the card had no room for what was asked', 'the card''s free memory just before', 'the line itself')
),
tokens AS (
    SELECT load_id, failure, max(prompt_tokens) AS prompt_tokens FROM crash_requests GROUP BY load_id, failure
),
speculating AS (
    SELECT DISTINCT load_id FROM speculation_configured WHERE believed AND load_id IS NOT NULL AND method IS NOT NULL
),
unpatched AS (
    SELECT load_id, string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM (
        SELECT load_id, line_id, ordinal FROM failure_reported
        WHERE believed AND failure = 'warning'
            AND regexp_matches(message, '^FAILED: |^EXCEPTION in |_fix\] .*(NOT FOUND|NOT applied|FAILED)')
        UNION ALL
        SELECT load_id, line_id, ordinal FROM marker_seen WHERE believed AND detail LIKE 'DRIFT skipped: %'
    ) AS told
    WHERE load_id IS NOT NULL
    GROUP BY load_id
),
limits AS (
    SELECT DISTINCT failures.load_id, failures.failure
    FROM failures
    JOIN failure_lines ON failure_lines.load_id = failures.load_id
        AND failure_lines.ordinal BETWEEN failures.first_ordinal AND failures.last_ordinal
    WHERE failure_lines.error_class = 'buffer_limit'
),
hosts AS (
    SELECT load_id, failure, what, string_agg(line_id, ' ' ORDER BY ordinal) AS lines
    FROM crash_host
    WHERE how <> 'time'
    GROUP BY load_id, failure, what
)
SELECT
    failures.load_id,
    failures.failure,
    known.class,
    known.about,
    known.separates,
    known.source,
    CASE known.class WHEN 'patches_not_applied' THEN unpatched.lines ELSE hosts.lines END AS lines
FROM failures
LEFT JOIN limits ON limits.load_id = failures.load_id AND limits.failure = failures.failure
-- the allocator calls what its driver allows for no buffer out of memory, before it says so
JOIN known ON regexp_full_match(
    CASE WHEN limits.load_id IS NULL THEN failures.error_class ELSE 'buffer_limit' END, known.error_class
)
LEFT JOIN tokens ON tokens.load_id = failures.load_id AND tokens.failure = failures.failure
LEFT JOIN hosts ON hosts.load_id = failures.load_id AND hosts.failure = failures.failure AND hosts.what = known.host
LEFT JOIN unpatched ON unpatched.load_id = failures.load_id
WHERE (known.class <> 'patches_not_applied' OR unpatched.lines IS NOT NULL)
    AND (known.message IS NULL OR regexp_matches(coalesce(failures.message, ''), known.message))
    AND (known.host IS NULL OR hosts.lines IS NOT NULL)
    AND (known.tried_low IS NULL OR failures.tried_bytes / 1048576 >= known.tried_low)
    AND (known.tried_high IS NULL OR failures.tried_bytes / 1048576 <= known.tried_high)
    AND (known.tokens_low IS NULL OR tokens.prompt_tokens >= known.tokens_low)
    AND (known.tokens_high IS NULL OR tokens.prompt_tokens <= known.tokens_high)
    AND (known.speculates IS NULL OR known.speculates = (failures.load_id IN (SELECT load_id FROM speculating)))
ORDER BY failures.number, failures.failure, known.class
