package http

import (
	"bufio"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
)

// maxFields is the number of fields that most requests have at most.
const maxFields = 16

// writeHead writes a request without a body, as [http.Request.Write] does. Most requests need none of its
// cases for other hosts, lengths and traces, which would allocate as much as the rest of the exchange.
func writeHead(w *bufio.Writer, req *http.Request) error {
	host, target, agent := req.Host, req.URL.RequestURI(), req.Header["User-Agent"]
	if host == "" {
		host = req.URL.Host
	}
	trace := httptrace.ContextClientTrace(req.Context())
	if req.Method != http.MethodGet && req.Method != http.MethodHead || req.Close || req.Trailer != nil ||
		req.TransferEncoding != nil || len(agent) != 1 || agent[0] == "" ||
		len(req.Header) > maxFields || strings.ContainsFunc(host, isUnusualInHost) || host == "" ||
		strings.ContainsFunc(target, isControl) ||
		trace != nil && (trace.WroteHeaderField != nil || trace.WroteRequest != nil) {
		return req.Write(w)
	}
	w.WriteString(req.Method)
	w.WriteByte(' ')
	w.WriteString(target)
	w.WriteString(" HTTP/1.1\r\n")
	writeField(w, "Host", host)
	writeField(w, "User-Agent", agent[0])
	var names [maxFields]string
	sorted := names[:0]
	for name := range req.Header {
		switch name {
		case "Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer":
		default:
			sorted = append(sorted, name)
		}
	}
	slices.Sort(sorted)
	for _, name := range sorted {
		for _, value := range req.Header[name] {
			writeField(w, name, value)
		}
	}
	if _, err := w.WriteString("\r\n"); err != nil {
		return err
	}
	if trace != nil && trace.WroteHeaders != nil {
		trace.WroteHeaders()
	}
	return nil
}

// writeField writes a field whose syntax was checked. A bufio.Writer keeps its first error.
func writeField(w *bufio.Writer, name, value string) {
	w.WriteString(name)
	w.WriteString(": ")
	w.WriteString(textproto.TrimString(value))
	w.WriteString("\r\n")
}

// isUnusualInHost reports whether a character may be one that http.Request.Write changes or refuses.
func isUnusualInHost(c rune) bool {
	return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != ':'
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }
