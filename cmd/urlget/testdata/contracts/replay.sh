# replay.sh COMMAND [FLAG]: replays each URL of the archive, without times and texts for people.
cd "$(dirname "$0")" || exit 1
while read -r u; do
	urlget "$@" --replay all.warc.gz "$u" 2>/dev/null
done <urls | sed -E 's/"time":"[^"]*"/"time":"T"/;s/"seconds":[0-9.e-]+/"seconds":0/;s/,"message":.*/}/'
