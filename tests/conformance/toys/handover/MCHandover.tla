---- MODULE MCHandover ----
EXTENDS Handover
====
