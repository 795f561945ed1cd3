package fetch

import "io"

// OnClose returns a Body, for use by middleware, that calls f once after body has been closed. It
// preserves optional interfaces: io.WriterTo, which may let the kernel move the bytes, and the
// io.Writer, [Terminal] and [Messenger] of sessions.
func OnClose(body io.ReadCloser, f func()) io.ReadCloser {
	c := &onClose{ReadCloser: body, f: f}
	w, _ := body.(io.Writer)
	switch b := body.(type) {
	case Terminal:
		return struct {
			io.ReadCloser
			io.Writer
			Terminal
		}{c, w, b}
	case Messenger:
		return struct {
			io.ReadCloser
			io.Writer
			Messenger
		}{c, w, b}
	case io.WriterTo:
		return struct {
			io.ReadCloser
			io.WriterTo
		}{c, b}
	case io.Writer:
		return struct {
			io.ReadCloser
			io.Writer
		}{c, b}
	}
	return c
}

type onClose struct {
	io.ReadCloser
	f func()
}

func (c *onClose) Close() error {
	err := c.ReadCloser.Close()
	if f := c.f; f != nil {
		c.f = nil
		f()
	}
	return err
}
