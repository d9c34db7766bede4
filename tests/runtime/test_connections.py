"""Whose connections are counted together."""

from dshq_widget.runtime.connections import source_of


def test_a_host_is_known_by_its_address_or_its_network():
    """One host may take any address of a network of 64 bits: each of its connections counted as another's."""
    assert source_of("2001:db8::1") == source_of("2001:db8:0:0:ffff::2") != source_of("2001:db8:0:1::1")
    assert source_of("fe80::1%eth0") == source_of("fe80::2%eth0")
    assert source_of("10.0.0.1") == source_of("::ffff:10.0.0.1") == "10.0.0.1" != source_of("10.0.0.2")
    assert source_of("/run/league.sock") == "/run/league.sock" and source_of("") == ""
