"""Queue disciplines of users' own, in one C file each."""
