package warc

import (
	"bytes"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// maxARCLine limits the first line of an ARC record where records are searched.
const maxARCLine = 4096

// parseARC returns the record that the first line of an ARC record describes, or nil for any other
// line. The fields are the URL, the address, the date, the media type and the length; version 2 has
// five more before the length (https://archive.org/web/researcher/ArcFileFormat.php). URLs may
// contain blanks.
func parseARC(line string) *Record {
	fields := strings.Split(line, " ")
	at := len(fields) - 1
	for ; at > 1; at-- {
		_, err := netip.ParseAddr(fields[at-1])
		if err == nil && len(fields[at]) == len("20060102150405") && isNumber(fields[at]) {
			break
		}
	}
	rest := fields[min(at+1, len(fields)):]
	if at <= 1 || len(rest) < 2 {
		return nil
	}
	length, err := strconv.ParseUint(rest[len(rest)-1], 10, 62)
	scheme, _, ok := strings.Cut(fields[0], ":")
	if err != nil || !ok {
		return nil
	}
	rec := &Record{Version: "ARC/1", Length: int64(length)}
	if len(rest) == 7 {
		rec.Version, rest = "ARC/2", slices.Delete(rest, 1, 6)
	}
	target, contentType := strings.Join(fields[:at-1], " "), strings.Join(rest[:len(rest)-1], " ")
	kind := Resource
	h := &rec.Header
	switch strings.ToLower(scheme) {
	case "filedesc":
		h.Add("WARC-Type", Info)
		h.Add("WARC-Filename", strings.TrimLeft(target[len("filedesc:"):], "/"))
	case "http", "https":
		kind, contentType = Response, "application/http; msgtype=response"
		fallthrough
	default:
		h.Add("WARC-Type", kind)
		h.Add("WARC-Target-URI", target)
		if fields[at-1] != "0.0.0.0" {
			h.Add("WARC-IP-Address", fields[at-1])
		}
	}
	h.AddTime("WARC-Date", parseDate(fields[at]))
	h.Add("Content-Type", contentType)
	h.Add("Content-Length", rest[len(rest)-1])
	return rec
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

// isARC reports whether the record is from an ARC file, so it has no record ID.
func (rec *Record) isARC() bool { return strings.HasPrefix(rec.Version, "ARC/") }

// begins reports whether a record begins with b, which has at least searchSize bytes unless the file
// ends.
func (in *input) begins(b []byte) bool {
	if len(b) > 5 && string(b[:5]) == "WARC/" && '0' <= b[5] && b[5] <= '9' {
		return true
	}
	line, _, ok := bytes.Cut(b, []byte("\n"))
	return in.arc && ok && parseARC(string(bytes.TrimSuffix(line, []byte("\r")))) != nil
}

// searchSize returns the number of bytes that identify the start of a record.
func (in *input) searchSize() int {
	if in.arc {
		return maxARCLine
	}
	return len("WARC/1")
}
