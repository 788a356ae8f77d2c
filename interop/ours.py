class Sealstone: pass
