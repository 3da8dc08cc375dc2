-- stored
--
-- One row for the whole case: how much of what could matter was read.
--
-- records      BIGINT  Records of all logs.
-- read_lines   BIGINT  Records that a pattern read.
-- sized        BIGINT  Records with an amount of memory.
-- sized_read   BIGINT  Of those, read by a pattern.
-- sized_ratio  DOUBLE  Share of them, 0 to 1; empty if there are none.
-- byte_ratio   DOUBLE  Share of the bytes of all logs that stand in read lines, 0 to 1; empty if there are none.
-- placed       BIGINT  Records that name a device and carry no amount.
-- placed_read  BIGINT  Of those, read by a pattern.
-- sampled      BIGINT  Records looked at for token counts.
-- tokens       BIGINT  Of those, records with one.
-- tokens_read  BIGINT  Of those, read by a pattern.
-- missed       BIGINT  Records with a literal that no pattern read.
-- carried      BIGINT  Records inside a foreign text: data, whatever they look like.
-- ambiguous    BIGINT  Lines that several loads could have written.
-- orphans      BIGINT  Lines that nobody is proved to have written.
-- suspects     BIGINT  Lines suspected to be forged.
SELECT
    coalesce(sum(records), 0)::BIGINT AS records,
    coalesce(sum(read), 0)::BIGINT AS read_lines,
    coalesce(sum(sized), 0)::BIGINT AS sized,
    coalesce(sum(sized_read), 0)::BIGINT AS sized_read,
    (sum(sized_read) / nullif(sum(sized), 0))::DOUBLE AS sized_ratio,
    (sum(read_bytes) / nullif(sum(size_bytes), 0))::DOUBLE AS byte_ratio,
    coalesce(sum(placed), 0)::BIGINT AS placed,
    coalesce(sum(placed_read), 0)::BIGINT AS placed_read,
    coalesce(sum(sampled), 0)::BIGINT AS sampled,
    coalesce(sum(tokens), 0)::BIGINT AS tokens,
    coalesce(sum(tokens_read), 0)::BIGINT AS tokens_read,
    coalesce(sum(missed), 0)::BIGINT AS missed,
    coalesce(sum(carried), 0)::BIGINT AS carried,
    (SELECT count(*) FROM ambiguous_lines) AS ambiguous,
    (SELECT count(*) FROM orphans) AS orphans,
    (SELECT count(*) FROM suspects) AS suspects
FROM scan_count
HAVING count(*) > 0
