"""Colours of labels for people with any kind of colour vision: made by scripts/palette.py, which also makes those of the server."""
DARK = (
    "4c9bf5 ff9f43 59fce1 71790c fd3ca1 ac10d0 deeb12 e6adf8 93c591 2d918e b19253 8669fc b96460 9783be 82ea83 874ca8 "
    "4f45f5 43c2ce d4fcb6 d0ccbe d769e1 f3721c b8a7ac ed3726 f5c632 aa5fd3 f8e5ff 6eaf7c b1daf8 8fa8f9 fed4a2 6ec64c "
    "318349 4877bd b7759f db5d7f f07e79 f59cca c5e7c4 e0b470 28cffc 8e9cc3 7d8174 b7fd77 b74eb1 5de5d8 9e9b13 80c8e1 "
    "6a5ee7 818ede d5b3ad c1785c ae96da a76440 9dd78a c7e360 2466c3 96ac95 acaee7 b6cda5 8d8011 9a28b8 2bd66a f9f54d").split()
LIGHT = (
    "1f6fd0 e8790c 7c1119 d18ff8 c61a89 41b892 0006c9 5c6e00 540075 2ee942 8f81be ac685d 022b49 8a0696 186361 490f27 "
    "d554f9 453a64 714b37 974dad b29d63 4436de 0d4538 5c948d 88abca 70d070 dd2212 24025f a62f5f 5588fb 653db5 1eac2e "
    "222400 496f8a 7346f1 f14dae d46782 c0b034 270396 1c8742 c136ce b776dd f08d91 a20a01 6f2d4b 5601ae 64377d 8c8b51 "
    "71623a 41b0f4 dd86b3 6a82a4 575011 fe2a67 6d1184 3d255f a890d4 894b73 25489a 955be3 331137 463822 d349a9 5c5d90").split()
