-- stored
--
-- One row a measured load: what its cards show, what its items account for, and the signed rest.
--
-- At the last sample before clean-up begins. The bounds add up as if all errors had one sign: the widest interval.
--
-- load_id            VARCHAR  The load.
-- number             BIGINT   Its place among the loads of the case.
-- model              VARCHAR  Best name that the log gives.
-- devices            BIGINT   Devices that were measured.
-- measured_bytes     BIGINT   Measured on all of them.
-- attributed_bytes   BIGINT   Sum of the items.
-- unexplained_bytes  BIGINT   The signed rest.
-- low_bytes          BIGINT   Lower bound of the rest.
-- high_bytes         BIGINT   Upper bound of the rest.
-- ratio              DOUBLE   The rest as a share of what was measured.
SELECT
    vram_gap.load_id, load.number, load.model,
    count(*) AS devices,
    sum(vram_gap.measured_bytes)::BIGINT AS measured_bytes,
    sum(vram_gap.attributed_bytes)::BIGINT AS attributed_bytes,
    sum(vram_gap.unexplained_bytes)::BIGINT AS unexplained_bytes,
    sum(vram_gap.low_bytes)::BIGINT AS low_bytes,
    sum(vram_gap.high_bytes)::BIGINT AS high_bytes,
    sum(vram_gap.unexplained_bytes) / nullif(sum(vram_gap.measured_bytes), 0) AS ratio
FROM vram_gap
JOIN load USING (load_id)
WHERE vram_gap.moment = 'last'
GROUP BY vram_gap.load_id, load.number, load.model
ORDER BY abs(sum(vram_gap.unexplained_bytes)) DESC, load.number
