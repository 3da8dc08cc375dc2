-- One row a prompt of a benchmark's own table of drafted blocks, with what its counts give: of no load.
--
-- Its rates are defined otherwise than accepted / drafted: the mean length is tokens ÷ steps, and the share is committed
-- tokens ÷ (steps × 16). The last step may commit more than was asked for, so that `committed` is a whole number from the
-- tokens on. Blocks of 16 are those of DFlash.
--
-- source_id    VARCHAR  Source of the table.
-- ordinal      BIGINT   Place among all matched lines.
-- prompt       VARCHAR  Name of the prompt.
-- tokens       BIGINT   Tokens asked for.
-- steps        BIGINT   Verification steps.
-- mean_length  DOUBLE   Mean length as printed.
-- length       DOUBLE   Tokens ÷ steps.
-- share        DOUBLE   Share of blocks as printed, 0 to 1.
-- committed    BIGINT   Tokens that the share says were committed.
-- per_s        DOUBLE   Tokens a second as printed.
-- holds        BOOLEAN  Whether both printed figures follow from the counts.
-- line_id      VARCHAR  Evidence.
SELECT
    line.source_id, blocks.ordinal, blocks.prompt, blocks.tokens, blocks.steps, blocks.mean_length,
    blocks.tokens / blocks.steps AS length, blocks.ratio AS share,
    round(blocks.ratio * blocks.steps * 16)::BIGINT AS committed, blocks.per_s,
    abs(blocks.mean_length - blocks.tokens / blocks.steps) <= 0.005 + 1e-9
        AND abs(round(blocks.ratio * blocks.steps * 16) / (blocks.steps * 16) - blocks.ratio) <= 0.0005 + 1e-9
        AND round(blocks.ratio * blocks.steps * 16) BETWEEN blocks.tokens AND blocks.tokens + 15 AS holds,
    blocks.line_id
FROM blocks_measured AS blocks
JOIN line USING (line_id)
WHERE blocks.steps > 0
ORDER BY blocks.ordinal
