package tn3270

import "fmt"

const size = Rows * Columns

// graphicCodes maps six-bit values to bytes that are graphic characters. They encode 12-bit
// addresses and attributes (GA23-0059, "Buffer addresses").
var graphicCodes = func() (c [64]byte) {
	for i := range c {
		c[i] = 0x40 | byte(i)
		if low := i & 0x0f; low >= 1 && low <= 9 && i != 0x21 || i == 0x30 {
			c[i] |= 0x80 // makes it a letter or a digit
		}
	}
	return c
}()

// parseAddress decodes a buffer address. The two highest bits select the format: 00 is a 14-bit
// binary address, 01 and 11 are a 12-bit address in two bytes of six bits, and 10 is reserved.
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

// appendAddress encodes a 12-bit address, which is large enough for the screen.
func appendAddress(dst []byte, n int) []byte {
	return append(dst, graphicCodes[n>>6], graphicCodes[n&0x3f])
}
