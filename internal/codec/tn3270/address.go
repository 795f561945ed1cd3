package tn3270

import "fmt"

// size is the number of positions of the screen.
const size = Rows * Columns

// codes are the bytes by which 12-bit addresses, and other six-bit values, travel: all of them
// graphic characters (GA23-0059, "Buffer addresses").
var codes = func() (c [64]byte) {
	for i := range c {
		c[i] = 0x40 | byte(i)
		if low := i & 0x0f; low >= 1 && low <= 9 && i != 0x21 || i == 0x30 {
			c[i] |= 0x80 // to be a letter or a digit
		}
	}
	return c
}()

// parseAddress decodes a buffer address. The two highest bits tell its form: 00 is a binary number
// of 14 bits, 01 and 11 are two characters of six bits each, and 10 is reserved.
func parseAddress(a, b byte) (int, error) {
	var n int
	switch a >> 6 {
	case 0:
		n = int(a)<<8 | int(b)
	case 2:
		return 0, fmt.Errorf("the buffer address %02x%02x has a reserved form", a, b)
	default:
		n = int(a&0x3f)<<6 | int(b&0x3f)
	}
	if n >= size {
		return 0, fmt.Errorf("the buffer address %d is beyond the screen of %d by %d", n, Rows, Columns)
	}
	return n, nil
}

// appendAddress encodes an address in 12 bits, which is enough for the screen.
func appendAddress(dst []byte, n int) []byte { return append(dst, codes[n>>6], codes[n&0x3f]) }
