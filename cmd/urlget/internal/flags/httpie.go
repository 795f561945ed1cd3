package flags

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// httpieItem is a request item of HTTPie: a name, a separator and a value.
var httpieItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Za-z0-9_.\[\]-]+)(:=@|=@|:=|==|@|=|:)(.*)$`)
})

// IsItem reports whether an argument is a request item of HTTPie, such as name=value or Name:value. A
// header field begins with a capital letter, because a scheme does not.
func IsItem(arg string) bool {
	m := httpieItem().FindStringSubmatch(arg)
	if m == nil || m[2] == ":" && (m[1][0] < 'A' || m[1][0] > 'Z') {
		return false
	}
	return !strings.HasPrefix(m[3], "//") && !isURL(arg)
}

// IsMethod reports whether an argument is a request method, which HTTPie expects before the URL.
func IsMethod(arg string) bool {
	return slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, arg)
}

// HTTPieLine translates the arguments of an HTTPie command line to a line of this command, as a shell
// reads it. Only the request items, the method and common flags are translated.
func HTTPieLine(args []string) string {
	var method, address string
	var fields, header, files, query []string
	form, verbose := false, false
	body := make([]string, 0, len(args))
	for _, arg := range args {
		m := httpieItem().FindStringSubmatch(arg)
		switch {
		case IsMethod(arg):
			method = arg
		case arg == "-f" || arg == "--form":
			form = true
		case arg == "-v" || arg == "--verbose":
			verbose = true
		case strings.HasPrefix(arg, "-"):
		case isURL(arg):
			address = redacted(arg)
		case m == nil:
		case m[2] == "==":
			query = append(query, url.QueryEscape(m[1])+"="+url.QueryEscape(m[3]))
		case m[2] == ":" && secretField(m[1]+":"):
			header = append(header, "-H "+Quote(m[1]+": ..."))
		case m[2] == ":":
			header = append(header, "-H "+Quote(m[1]+": "+m[3]))
		case m[2] == "@":
			files = append(files, "-F "+Quote(m[1]+"=@"+m[3]))
		case m[2] == "=":
			fields = append(fields, url.QueryEscape(m[1])+"="+url.QueryEscape(m[3]))
			body = append(body, text(m[1])+":"+text(m[3]))
		case m[2] == ":=":
			body = append(body, text(m[1])+":"+m[3])
		}
	}
	line := []string{"urlget", "cat"}
	if verbose {
		line = []string{"urlget", "-v", "-O", "-"}
	}
	switch {
	case method == "HEAD":
		line = []string{"urlget", "-I"}
	case method != "" && method != "GET" && (method != "POST" || len(body)+len(files) == 0):
		line = append(line, "-X", method)
	}
	switch {
	case len(files) > 0:
		for _, field := range fields {
			name, value, _ := strings.Cut(field, "=")
			line = append(line, "-F", Quote(name+"="+value))
		}
		line = append(line, files...)
	case len(body) > 0 && form:
		line = append(line, "-d", Quote(strings.Join(fields, "&")))
	case len(body) > 0:
		line = append(line, "-d", Quote("{"+strings.Join(body, ",")+"}"), "-H", "'Content-Type: application/json'")
	}
	if query != nil {
		separator := "?"
		if strings.Contains(address, "?") {
			separator = "&"
		}
		address += separator + strings.Join(query, "&")
	}
	return strings.Join(append(append(line, header...), Quote(address)), " ")
}

// text returns a text as JSON.
func text(s string) string {
	b, _ := json.Marshal(s) // a string cannot fail
	return string(b)
}
