package flags

import (
	"cmp"
	"slices"
	"strings"

	"github.com/urlget/urlget/fetch"
	"github.com/urlget/urlget/fetch/uri"
)

// noCurl are the short flags of curl that change nothing here.
const noCurl = "fsSLJ"

// CatLine returns the hint for the arguments of a curl command line, which prints the content. It is a
// line to type only if that has nothing but noCurl and the URLs.
func CatLine(args []string) string {
	silent := []string{"--location", "--fail", "--silent", "--show-error"}
	line, simple, saves := "use urlget cat", true, ""
	for _, arg := range args {
		short := len(arg) > 1 && arg[0] == '-' && arg[1] != '-'
		switch u, err := uri.ParseLoose(arg); {
		case short && strings.Trim(arg[1:], noCurl) == "", slices.Contains(silent, arg):
			continue
		case short && strings.Contains(arg, "o"), arg == "--output":
			saves = "curl's -o is -O FILE"
		case short && strings.Contains(arg, "O"), arg == "--remote-name":
			saves = "curl's -O is the default here"
		case err == nil && u.IsAbs() && u.HasAuthority():
			line += " " + Quote(u.Redacted())
			continue
		}
		simple = false
	}
	if simple {
		return line
	}
	return "curl's -s is -q; " + cmp.Or(saves, "urlget cat prints the content")
}

// silent reports whether arg is a cluster of curl's flags with -s, which is --segments here. next is
// the argument after it, or "".
func silent(arg, next string) bool {
	before, value, found := strings.Cut(arg[1:], "s")
	if !found || strings.Trim(before, noCurl+"0146OIRgiklnvNZ#") != "" {
		return false
	}
	if value == "" {
		value = next
	}
	return value == "" || value != "auto" && (value[0] < '0' || value[0] > '9')
}

// Quote quotes text for a shell if necessary.
func Quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,"
	text = fetch.Printable(text)
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
