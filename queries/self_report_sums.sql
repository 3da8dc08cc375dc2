-- stored
--
-- What each known self-report algorithm gives for a load, from the load's own lines.
--
-- load_id          VARCHAR  The load.
-- algorithm        VARCHAR  Name of the algorithm.
-- about            VARCHAR  Whose it is, and what it does.
-- rank             INTEGER  Order in which algorithms that fit equally well are preferred.
-- size_bytes       BIGINT   Its figure.
-- tolerance_bytes  BIGINT   How far a report that it made may be from that figure.
-- lines            BIGINT   Lines that entered.
-- whole            BOOLEAN  Whether weights are among them, or it needs none: without their lines there is nothing to compare.
WITH known (algorithm, rank, about) AS (
    VALUES
    ('last_value_wins', 1,
        'Ollama 0.30.0 to 0.33.0-rc2, size_vram: the last line of each component, device and kind, cards only'),
    ('printed_table', 2, 'Ollama 0.11.5 to 0.24.0, size_vram: the table printed at the end of the load, cards only'),
    ('forecast', 3, 'Ollama up to 0.11.4: the forecast made before the load'),
    ('last_value_wins_with_host', 4, 'Ollama 0.30.0 to 0.33.0-rc2, size: the same with host memory'),
    ('printed_table_with_host', 5, 'Ollama 0.11.5 to 0.24.0, size: the table with host memory'),
    ('contexts_and_projector', 6, 'Ollama pull request 17857: all contexts and the forecast of the projector'),
    ('file_size', 7, 'Ollama from 0.30.0, where it read no buffer line: the size of the file')
)
SELECT
    replay.load_id,
    replay.algorithm,
    known.about,
    known.rank,
    sum(replay.size_bytes)::BIGINT AS size_bytes,
    sum(replay.tolerance_bytes)::BIGINT AS tolerance_bytes,
    count(*) AS lines,
    bool_or(replay.kind = 'weights' OR replay.algorithm IN ('forecast', 'file_size')) AS whole
FROM self_report_replay AS replay
JOIN known USING (algorithm)
WHERE replay.status = 'entered'
GROUP BY replay.load_id, replay.algorithm, known.about, known.rank
ORDER BY replay.load_id, known.rank
