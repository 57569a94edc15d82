"""The service of SEQUENCER and TOTAL: totally ordered multicast, by sends, deliveries and views."""
