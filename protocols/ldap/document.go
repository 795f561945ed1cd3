package ldap

import "io"

// A document reads all records of a search as LDIF. It returns received records without waiting for
// more.
type document struct {
	*records
	writer recordWriter // the current record
	buf    []byte       // the buffer of rest
	rest   []byte       // generated LDIF that has not been read
	err    error        // returned after rest; io.EOF at the end
}

func (d *document) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if err := d.fill(); err != nil {
		return 0, err
	}
	n := copy(p, d.rest)
	d.rest = d.rest[n:]
	return n, nil
}

func (d *document) WriteTo(w io.Writer) (written int64, err error) {
	for {
		if err := d.fill(); err == io.EOF {
			return written, nil
		} else if err != nil {
			return written, err
		}
		n, err := w.Write(d.rest)
		written += int64(n)
		d.rest = d.rest[n:]
		if err != nil {
			return written, err
		}
	}
}

// fill generates more LDIF if rest is empty. It returns an error, possibly io.EOF, if there is none.
func (d *document) fill() error {
	if len(d.rest) > 0 {
		return nil
	}
	all := false
	for d.buf = d.buf[:0]; d.err == nil; {
		if d.buf, all = d.writer.append(d.buf); !all || len(d.buf) > maxPart {
			break
		}
		if len(d.buf) > 0 && d.first == nil && (len(d.missing) > 0 || !isBuffered(d.r)) {
			break
		}
		var rec record
		if rec, d.err = d.next(); d.err == nil {
			d.writer = recordWriter{record: rec, started: rec.continued}
		}
	}
	if d.rest = d.buf; len(d.rest) == 0 {
		return d.err
	}
	return nil
}
