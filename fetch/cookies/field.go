package cookies

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Parse returns the cookies in the Set-Cookie fields of a response (RFC 6265, section 5.2), in their
// order. It ignores fields without a name and fields with control characters. [http.Response.Cookies]
// also drops cookies whose value is JSON or UTF-8, and reads fewer forms of dates.
//
// A MaxAge that is too large for an int32 is reduced to that.
func Parse(header http.Header) []*http.Cookie {
	var list []*http.Cookie
	for _, field := range header["Set-Cookie"] {
		if c := parseField(field); c != nil {
			list = append(list, c)
		}
	}
	return list
}

// Add adds cookies to the Cookie field of a request, with the values that the server sent.
// [http.Request.AddCookie] puts values with a comma or a blank in quotes and removes bytes beyond
// ASCII. Cookies with control characters or semicolons are skipped.
func Add(header http.Header, list []*http.Cookie) {
	field := header.Get("Cookie")
	for _, c := range list {
		value := quotedValue(c)
		if !isSendable(c.Name, value) {
			continue
		}
		if field != "" {
			field += "; "
		}
		field += c.Name + "=" + value
	}
	if field != "" {
		header.Set("Cookie", field)
	}
}

// isSendable reports whether a cookie can be sent in a Cookie field and saved in a file.
func isSendable(name, value string) bool {
	return name != "" && !strings.ContainsAny(name, "=;") && !strings.Contains(value, ";") &&
		!strings.ContainsFunc(name+value, isControl)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// trim removes blanks and tabs (WSP in RFC 6265).
func trim(s string) string { return strings.Trim(s, " \t") }

// setValue sets the value of c. Package net/http keeps its quotes apart.
func setValue(c *http.Cookie, value string) {
	c.Value = value
	if n := len(value); n > 1 && value[0] == '"' && value[n-1] == '"' {
		c.Value, c.Quoted = value[1:n-1], true
	}
}

// quotedValue returns the value of c as it is sent.
func quotedValue(c *http.Cookie) string {
	if c.Quoted {
		return `"` + c.Value + `"`
	}
	return c.Value
}

func parseField(field string) *http.Cookie {
	if strings.ContainsFunc(field, func(r rune) bool { return isControl(r) && r != '\t' }) {
		return nil
	}
	pair, attributes, _ := strings.Cut(field, ";")
	name, value, ok := strings.Cut(pair, "=")
	if name = trim(name); !ok || name == "" {
		return nil
	}
	c := &http.Cookie{Name: name, Raw: field}
	setValue(c, trim(value))
	for attributes != "" {
		pair, attributes, _ = strings.Cut(attributes, ";")
		name, value, _ := strings.Cut(pair, "=")
		setAttribute(c, trim(name), trim(value))
	}
	return c
}

func setAttribute(c *http.Cookie, name, value string) {
	switch strings.ToLower(name) {
	case "":
	case "expires":
		if t, ok := parseDate(value); ok {
			c.Expires, c.RawExpires = t, value
		}
	case "max-age":
		if seconds, ok := parseMaxAge(value); ok {
			c.MaxAge = seconds
		}
	case "domain":
		if value != "" {
			c.Domain = value
		}
	case "path":
		c.Path = value
	case "secure":
		c.Secure = true
	case "httponly":
		c.HttpOnly = true
	case "partitioned":
		c.Partitioned = true
	case "samesite":
		switch strings.ToLower(value) {
		case "lax":
			c.SameSite = http.SameSiteLaxMode
		case "strict":
			c.SameSite = http.SameSiteStrictMode
		case "none":
			c.SameSite = http.SameSiteNoneMode
		default:
			c.SameSite = http.SameSiteDefaultMode
		}
	default:
		c.Unparsed = append(c.Unparsed, name+"="+value)
	}
}

// parseMaxAge parses an optional minus sign and digits. It returns -1 for a cookie that is to be
// removed, as package net/http does.
func parseMaxAge(value string) (seconds int, ok bool) {
	digits := strings.TrimPrefix(value, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	n, _ := strconv.ParseInt(value, 10, 32) // out of range, n is the nearest
	if n <= 0 {
		return -1, true
	}
	return int(n), true
}

// parseDate parses the date of a cookie (RFC 6265, section 5.1.1): the first time, day, month and
// year in the text, in any order. The time zone is always UTC.
func parseDate(text string) (date time.Time, ok bool) {
	var clock [3]int
	var day, year int
	var month time.Month
	var hasClock bool
	for _, token := range strings.FieldsFunc(text, isDateDelimiter) {
		switch n, digits := leadingNumber(token); {
		case !hasClock && parseClock(token, &clock):
			hasClock = true
		case day == 0 && (digits == 1 || digits == 2):
			if day = n; day < 1 || day > 31 {
				return date, false
			}
		case month == 0 && monthOf(token) != 0:
			month = monthOf(token)
		case year == 0 && digits >= 2 && digits <= 4:
			switch year = n; {
			case n < 70:
				year += 2000
			case n < 100:
				year += 1900
			}
			if year < 1601 {
				return date, false
			}
		}
	}
	if !hasClock || day == 0 || month == 0 || year == 0 || clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
		return date, false
	}
	date = time.Date(year, month, day, clock[0], clock[1], clock[2], 0, time.UTC)
	return date, date.Day() == day
}

func isDateDelimiter(r rune) bool {
	return r == '\t' || r >= ' ' && r <= '/' || r >= ';' && r <= '@' ||
		r >= '[' && r <= '`' || r >= '{' && r <= '~'
}

// leadingNumber returns the number at the beginning of token and its number of digits. Numbers of
// more than four digits are 0.
func leadingNumber(token string) (n, digits int) {
	digits = len(token) - len(strings.TrimLeft(token, "0123456789"))
	if digits <= 4 {
		n, _ = strconv.Atoi(token[:digits])
	}
	return n, digits
}

// parseClock parses hours, minutes and seconds. Other text may follow.
func parseClock(token string, clock *[3]int) bool {
	for i := range clock {
		n, digits := leadingNumber(token)
		if digits < 1 || digits > 2 {
			return false
		}
		clock[i], token = n, token[digits:]
		if i < 2 {
			var ok bool
			if token, ok = strings.CutPrefix(token, ":"); !ok {
				return false
			}
		}
	}
	return true
}

func monthOf(token string) time.Month {
	if len(token) < 3 {
		return 0
	}
	for m := time.January; m <= time.December; m++ {
		if strings.EqualFold(token[:3], m.String()[:3]) {
			return m
		}
	}
	return 0
}
