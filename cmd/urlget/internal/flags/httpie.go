package flags

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

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

// InsteadOfItem returns the hint for a method or a request item of HTTPie. It shows no values, which may be
// secret.
func InsteadOfItem(arg string) string {
	switch {
	case arg == "GET":
		return "HTTPie's GET is the default here; urlget cat prints the content"
	case arg == "HEAD":
		return "HTTPie's HEAD is -I"
	case arg == "DELETE" || arg == "OPTIONS":
		return "HTTPie's " + arg + " is -X " + arg
	case IsMethod(arg):
		return "HTTPie's " + arg + " is -X " + arg + "; its standard input is --post-file -"
	}
	m := httpieItem().FindStringSubmatch(arg)
	switch m[2] {
	case ":":
		return "HTTPie's NAME:VALUE is -H 'NAME: VALUE'"
	case "==":
		return "HTTPie's NAME==VALUE is part of the URL: URL?NAME=VALUE"
	case "@":
		return "HTTPie's NAME@FILE is -F NAME=@FILE"
	}
	return "HTTPie's NAME=VALUE is -d NAME=VALUE with -f or --form, and else JSON: " +
		`--data '{"NAME":"VALUE"}' -H 'Content-Type: application/json'`
}
