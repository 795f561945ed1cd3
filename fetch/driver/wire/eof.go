package wire

import "io"

// Unexpected returns io.ErrUnexpectedEOF for io.EOF, and other errors unchanged. It is for an error within a
// message: io.EOF would say that the content is complete.
func Unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
