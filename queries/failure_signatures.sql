-- What is known of failures by their signature: a class, what would separate it from others, and whose knowledge it is.
--
-- A match makes a candidate, never a cause. Amounts are of the refused allocation, tokens of the request in flight; an empty
-- limit is no limit. Classes named by a project say so: they are about its configurations, and dated.
--
-- class        VARCHAR  Class.
-- error_class  VARCHAR  Error class of the failure, as a regular expression.
-- message      VARCHAR  Regular expression of its words, if needed.
-- host         VARCHAR  What the host must have logged about it, if needed: a kind of service_changed.
-- tried_low    DOUBLE   Least amount refused, MiB.
-- tried_high   DOUBLE   Most, MiB.
-- tokens_low   BIGINT   Least tokens of the request in flight.
-- tokens_high  BIGINT   Most.
-- speculates   BOOLEAN  Whether the load must speculate.
-- about        VARCHAR  What it would mean.
-- separates    VARCHAR  What would tell it from others.
-- source       VARCHAR  Who says so.
SELECT *
FROM (
    VALUES
    ('host_oom_kill', 'killed|no_word|worker_died|engine_died', NULL, 'oom_killed', NULL::DOUBLE, NULL::DOUBLE,
        NULL::BIGINT, NULL::BIGINT, NULL::BOOLEAN, 'the kernel killed it because the host ran out of memory',
        'the kernel log names the process and its memory', 'the kernel log'),
    ('external_kill', 'killed', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'a signal from outside ended it: no error of its own', 'who sent it: a guard, an operator, the kernel',
        'the service manager'),
    ('gone_without_a_word', 'no_word', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'its process was gone and left no line: a kill from outside, or a death that writes nothing',
        'the kernel log and the service manager of that minute; the exit status of the process', 'the absence of a line'),
    ('card_fault', '.*', NULL, 'xid', NULL, NULL, NULL, NULL, NULL,
        'the driver reported an error of the card', 'the number: 31 is a bad access by a program, 79 a lost card',
        'the kernel log'),
    ('kv_fit', 'kv_too_small|no_blocks', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'the cache that fits is smaller than asked', 'a shorter length, or a larger share of the card', 'the line itself'),
    ('boot_free_memory', 'free_memory', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'others held the card when it started', 'who holds the card before the start', 'the line itself'),
    ('unsupported', 'configuration|assertion|exception|load_failed|aborted|no kernel image.*',
        '(?i)not supported|unsupported|no kernel image|cannot run the operation', NULL, NULL, NULL, NULL, NULL, NULL,
        'the build cannot run this model, format or card', 'another build or another format of the same model',
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
    ('data_dependent_library_failure', 'an internal operation failed', NULL, NULL, NULL, NULL, 1000, NULL, NULL,
        'a matrix library fails in the prefill of certain prompts only, each time',
        'the same prompt with -ub 256; another text of the same length', 'llama.cpp issues 28377 and 23407'),
    ('device_out_of_memory', 'out of memory|out_of_memory', NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        'the card had no room for what was asked', 'the card''s free memory just before', 'the line itself')
) AS known (
    class, error_class, message, host, tried_low, tried_high, tokens_low, tokens_high, speculates, about, separates, source
)
ORDER BY class
