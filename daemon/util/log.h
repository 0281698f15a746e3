/* log.h -- one line per event, to stderr.
 *
 * A line has a level, a topic (the module) and a sentence. On a terminal or in a file it
 * gets a time stamp; when stderr is the journal's own socket (JOURNAL_STREAM) it gets the
 * journal's "<N>" priority instead. One write(2) per line, so lines of several threads
 * never mix. Any thread may log. */
#ifndef SL_LOG_H
#define SL_LOG_H

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARNING, SL_LOG_INFO, SL_LOG_DEBUG };

/* Call once, before threads are created. */
void sl_log_init(enum sl_log_level level);
void sl_log_set_level(enum sl_log_level level);  /* any thread, at any time */
enum sl_log_level sl_log_level(void);

/* "error", "warning", "info", "debug"; -1 for any other text. */
int sl_log_level_parse(const char *text);

void sl_log(enum sl_log_level level, const char *topic, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define sl_log_error(topic, ...) sl_log(SL_LOG_ERROR, topic, __VA_ARGS__)
#define sl_log_warning(topic, ...) sl_log(SL_LOG_WARNING, topic, __VA_ARGS__)
#define sl_log_info(topic, ...) sl_log(SL_LOG_INFO, topic, __VA_ARGS__)
#define sl_log_debug(topic, ...) sl_log(SL_LOG_DEBUG, topic, __VA_ARGS__)

#endif
