-- stored
--
-- One row a load test and card: what the client's log of the cards says of it, from the same baseline as the test's.
--
-- The turn log has the sum over all cards, in which a card that grows hides behind one that shrinks. The log of the cards
-- belongs to the turn log of its folder, by session and turn.
--
-- run             VARCHAR  Source of the turn log.
-- gpu_index       BIGINT   Index of the card.
-- baseline_bytes  BIGINT   Used on it at the end of the baseline session.
-- highest_bytes   BIGINT   Most used on it in the turns that growth is measured over.
-- growth_bytes    BIGINT   Growth.
-- turns           BIGINT   Turns behind the baseline.
-- differs_bytes   BIGINT   Largest difference of the turn log's sum from the sum over the cards, in any turn.
-- lines           VARCHAR  Evidence: baseline and highest, separated by a blank.
WITH cards AS (
    SELECT
        regexp_replace(line.source_id, '[^/]*$', '') AS folder, card_at_turn.session, card_at_turn.turn,
        card_at_turn.gpu_index, card_at_turn.used_bytes, card_at_turn.ordinal, card_at_turn.line_id
    FROM card_at_turn
    JOIN line USING (line_id)
    WHERE card_at_turn.believed
),
turns AS (
    SELECT
        soak_turns.run, soak_turns.session, soak_turns.turn, soak_turns.place, soak_turns.failed, soak_turns.used_bytes,
        regexp_replace(soak_turns.run, '[^/]*$', '') AS folder, soak_runs.baseline_session
    FROM soak_turns
    JOIN soak_runs USING (run)
    WHERE soak_turns.basis = 'turn log'
),
bases AS (
    SELECT
        run, max(place) FILTER (session = baseline_session) AS base_place,
        min(place) FILTER (failed AND session > baseline_session) AS broken_place
    FROM turns
    GROUP BY run
),
joined AS (
    SELECT
        turns.run, turns.place, turns.used_bytes AS told_bytes, bases.base_place, bases.broken_place, cards.gpu_index,
        cards.used_bytes, cards.ordinal, cards.line_id,
        sum(cards.used_bytes) OVER (PARTITION BY turns.run, turns.place) AS sum_bytes
    FROM turns
    JOIN bases USING (run)
    JOIN cards USING (folder, session, turn)
)
SELECT
    run, gpu_index,
    arg_min(used_bytes, ordinal) FILTER (place = base_place) AS baseline_bytes,
    max(used_bytes) FILTER (place > base_place AND place < coalesce(broken_place, 9e18)) AS highest_bytes,
    max(used_bytes) FILTER (place > base_place AND place < coalesce(broken_place, 9e18))
        - arg_min(used_bytes, ordinal) FILTER (place = base_place) AS growth_bytes,
    count(*) FILTER (place > base_place AND place < coalesce(broken_place, 9e18)) AS turns,
    max(abs(sum_bytes - told_bytes))::BIGINT AS differs_bytes,
    concat_ws(
        ' ', arg_min(line_id, ordinal) FILTER (place = base_place),
        arg_max(line_id, (used_bytes, -ordinal)) FILTER (place > base_place AND place < coalesce(broken_place, 9e18))
    ) AS lines
FROM joined
GROUP BY run, gpu_index
ORDER BY run, gpu_index
