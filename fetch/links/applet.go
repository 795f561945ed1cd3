package links

import (
	"slices"
	"strings"
)

// appletSpans returns the class or the archives of an applet (HTML 4.01, section 13.4), of which whole is
// the attribute. They are relative to its codebase.
func appletSpans(whole span, attrs []attribute) (list []span) {
	codebase, _ := value(attrs, "codebase")
	if codebase = strings.TrimSpace(codebase); codebase != "" && !strings.HasSuffix(codebase, "/") {
		codebase += "/"
	}
	at := 0
	for ref := range strings.SplitSeq(whole.ref, ",") {
		start := at + len(ref) - len(strings.TrimLeft(ref, blanks))
		at += len(ref) + 1
		if ref = strings.TrimSpace(ref); ref != "" {
			list = append(list, span{attr: whole.attr, start: start, end: start + len(ref),
				ref: codebase + ref, rel: "applet"})
		}
	}
	return list
}

// withoutCodebase removes the codebase of an applet, which its converted references do not have.
func withoutCodebase(attrs []attribute) []attribute {
	return slices.DeleteFunc(attrs, func(a attribute) bool { return a.key == "codebase" })
}
